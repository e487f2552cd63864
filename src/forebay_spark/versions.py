"""Which Spark the connector can work with.

Sources in Python can limit a micro-batch and end it with Trigger.AvailableNow from Spark 4.2
on.  An older Spark meets names that it does not have, passes over the connector without a word
and says DATA_SOURCE_NOT_FOUND; so whoever can see its version says more.
"""

from __future__ import annotations

OLDEST = (4, 2)


def fault_of(version: str) -> str | None:
    """What is wrong with a version of PySpark, as a sentence; None if nothing is."""
    try:
        found = tuple(int(part) for part in version.split(".")[:2])
    except ValueError:
        return None
    if found >= OLDEST:
        return None
    return (
        f"The connector needs PySpark {'.'.join(map(str, OLDEST))} or later, but {version} is "
        "installed. Install a newer one, as in pip install 'forebay[spark]'; a cluster needs the "
        "same version."
    )
