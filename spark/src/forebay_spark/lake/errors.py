"""What can be wrong with a lake; the family is drawn in ``forebay_spark.errors``."""

from __future__ import annotations

from forebay_spark.errors import ConnectorError


class LakeError(ConnectorError):
    """There is no lake, it is of another kind, or two writers contradict each other."""
