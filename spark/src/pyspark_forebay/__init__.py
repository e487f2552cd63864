"""The module through which Spark finds the connector by itself.

On the first use of a Python data source, Spark imports every top-level module
whose name begins with ``pyspark_`` and registers its ``DefaultSource``.  So
``spark.read.format("forebay")`` works without a call to register anything, as
long as Python on the driver and on the workers can import this module.  A Spark that is
too old for the connector finds a source that says so.
"""

import pyspark

from forebay_spark.runtime.versions import is_too_old

if is_too_old(pyspark.__version__):
    from forebay_spark.runtime.old_spark import OldSparkSource as DefaultSource
else:
    from forebay_spark.source import ForebaySource as DefaultSource  # type: ignore[assignment]

__all__ = ["DefaultSource"]
