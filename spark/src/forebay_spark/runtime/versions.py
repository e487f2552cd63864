"""Which Spark the connector can work with.

Sources in Python can limit a micro-batch and end it with Trigger.AvailableNow from Spark 4.2
on.  An older Spark lacks names that the connector imports, silently ignores the connector and
reports DATA_SOURCE_NOT_FOUND; so code that can see the version explains it.
"""

from __future__ import annotations

import re

OLDEST = (4, 2)


def is_too_old(version: str) -> bool:
    """Whether a version of PySpark lacks what the connector needs."""
    return tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST


def sentence(version: str) -> str:
    """The message about a version that is too old."""
    return (
        f"The connector needs PySpark {'.'.join(map(str, OLDEST))} or later, but {version} is "
        "installed. Install a newer one, as in pip install -U forebay-spark; a cluster needs the "
        "same version."
    )
