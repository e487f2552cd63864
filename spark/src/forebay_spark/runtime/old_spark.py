"""The source "forebay" in a Spark that is too old for it: one sentence."""

from __future__ import annotations

import pyspark
from pyspark.sql.datasource import DataSource

from forebay_spark.errors import OldSparkError
from forebay_spark.runtime.versions import sentence


class OldSparkSource(DataSource):
    """Says why there is nothing to read or to write, as soon as Spark makes one."""

    @classmethod
    def name(cls) -> str:
        """What stands in ``format(...)``."""
        return "forebay"

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        raise OldSparkError(sentence(pyspark.__version__))
