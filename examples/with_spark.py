"""A Spark session and a folder for an example; both are removed afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from examples.server import connect
from forebay_spark import session


def told_with_spark(tell: Callable[[Any, Path], None], name: str, *own_keys: str) -> None:
    """Run it with a session of its own; keys that an earlier run left are deleted."""
    with tempfile.TemporaryDirectory(prefix="forebay-example-") as folder:
        connect(*own_keys).close()
        spark = session(name, "local[2]", {"spark.sql.shuffle.partitions": "2"})
        try:
            tell(spark, Path(folder))
        finally:
            spark.stop()
