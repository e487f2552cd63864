"""Which Spark the connector can work with.

Sources in Python can limit a micro-batch and end it with Trigger.AvailableNow from Spark 4.2
on.  An older Spark meets names that it does not have, passes over the connector without a word
and says DATA_SOURCE_NOT_FOUND; so whoever can see its version says more.
"""

from __future__ import annotations

import re

OLDEST = (4, 2)


def is_too_old(version: str) -> bool:
    """Whether a version of PySpark lacks what the connector needs."""
    return tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST


def sentence(version: str) -> str:
    """What to say about a version that is too old."""
    return (
        f"The connector needs PySpark {'.'.join(map(str, OLDEST))} or later, but {version} is "
        "installed. Install a newer one, as in pip install 'forebay[spark]'; a cluster needs the "
        "same version."
    )
