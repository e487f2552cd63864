"""The door through which Spark finds the connector by itself.

On the first use of a Python data source, Spark imports every top-level module
whose name begins with ``pyspark_`` and registers its ``DefaultSource``.  So
``spark.read.format("forebay")`` works without a call to register anything, as
long as Python on the driver and on the workers can import this module.
"""

from forebay_spark.source import ForebaySource as DefaultSource

__all__ = ["DefaultSource"]
