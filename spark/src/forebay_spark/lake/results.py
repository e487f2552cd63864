"""Rows from Spark into a lake: its tasks write files, one commit adds a batch."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame

from forebay_spark.lake.lake import About, Lake
from forebay_spark.lake.source import FORMAT, SINK, register


def append(frame: DataFrame, lake: Lake, about: About, writer: str, batch: int) -> None:
    """Write one micro-batch of a query; a second call changes nothing."""
    register(frame.sparkSession)
    told: Mapping[str, object] = {
        "root": lake.place.root,
        "options": dict(lake.place.options),
        "partitions": about.partitions,
        "writer": writer,
        "batch": batch,
    }
    frame.write.format(FORMAT).option(SINK, json.dumps(told)).mode("append").save()
