"""Names that heads and pages may use though our code does not define them; see mentions.py."""

from __future__ import annotations

#: Files of examples, which a reader would make.
EXAMPLE_FILES = {
    *("mends.py", "totals.toml", "server/tests/commands/streams/test_xfirst.py"),
    *("shop.py", "orders.py", "clicks.py", "test_shop.py", "buy.py", "billing.py"),
    *("films.py", "parcels.py", "payments.py", "send.py"),
}
#: Foreign objects with the name of a module of ours.
FOREIGN_OBJECTS = {
    "app",  # an App of cyclopts
    "spark",  # a SparkSession
    "java",  # packages of Java
    "payload",  # a column of an example
}
FOREIGN = {
    # Spark and its SQL
    *("mapInArrow", "COMMENT", "LOCATION", "TBLPROPERTIES", "USING"),
    # deltalake and its stores
    *("create_write_transaction", "max_commit_retries", "AWS_ENDPOINT_URL"),
    # cyclopts and rich; an option that is cut short
    *("consume_multiple", "show_default", "NO_COLOR", "--str"),
    # cibuildwheel
    "CIBW_ARCHS",
    # Prometheus
    "basic_auth",
    # examples: the command that CONTRIBUTING.md adds, a name that is put together
    *("XFIRST", "query-batch", "--directive"),
    # put together by pipeline/metrics.py
    "forebay_pipeline_rows_total",
    # Celery, for those who know it
    *("apply_async", "task_routes", "autoretry_for", "max_retries", "retry_backoff", "acks_late"),
    *("reject_on_worker_lost", "visibility_timeout", "time_limit", "soft_time_limit"),
    *("worker_prefetch_multiplier", "--pool"),
    # Kafka, for those who know it
    *("kafka-console-consumer", "kafka-console-producer", "kafka-consumer-groups"),
    *("--describe", "--reset-offsets", "--to-datetime"),
}
