"""Names that heads and pages may use though nothing in the code has them; see mentions.py."""

from __future__ import annotations

#: Files of examples, which a reader would have.
EXAMPLE_FILES = {"mends.py", "totals.toml", "server/tests/commands/streams/test_xfirst.py"}
#: Objects of others that have the name of a module of ours.
FOREIGN_OBJECTS = {
    "spark",  # a SparkSession
    "java",  # packages of Java
    "payload",  # a column of an example
}
FOREIGN = {
    # Redis: errors, fields
    *("MASTERDOWN", "MOVED", "TRYAGAIN"),
    # redis-py: parts of a URL
    "ssl_ca_certs",
    # Spark and its SQL
    *("mapInArrow", "COMMENT", "LOCATION", "TBLPROPERTIES", "USING"),
    # deltalake and its stores
    *("create_write_transaction", "max_commit_retries", "AWS_ENDPOINT_URL"),
    # cyclopts and rich; an option that is cut short
    *("consume_multiple", "show_default", "NO_COLOR", "--str"),
    # cibuildwheel
    "CIBW_ARCHS",
    # examples: the command that CONTRIBUTING.md adds, a name that is put together
    *("XFIRST", "query-batch", "--directive"),
    # put together by pipeline/metrics.py
    "forebay_pipeline_rows_total",
}
