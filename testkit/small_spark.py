"""Settings of a small Spark that starts quickly: one JVM on this machine, for tests and soaks."""

from __future__ import annotations

from forebay_spark.runtime.session import SETTINGS as OURS

JVM_OPTIONS = "spark.driver.extraJavaOptions"
#: A test is over before a compiler that optimises, or a collector with threads of its own, is
#: worth its CPU time.
SETTINGS = {
    JVM_OPTIONS: f"{OURS[JVM_OPTIONS]} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
