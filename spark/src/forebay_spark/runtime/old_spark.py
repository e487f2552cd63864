"""The source "forebay" in a Spark that is too old for it: one sentence."""

from __future__ import annotations

import pyspark
from pyspark.sql.datasource import DataSource

from forebay_spark.errors import OldSparkError
from forebay_spark.runtime.versions import sentence


class OldSparkSource(DataSource):
    """Raises the reason as soon as Spark creates one."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format(...)``."""
        return "forebay"

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        raise OldSparkError(sentence(pyspark.__version__))
