"""Errors of a lake; ``forebay_spark.errors`` shows the whole family."""

from __future__ import annotations

from forebay_spark.errors import ConnectorError


class LakeError(ConnectorError):
    """There is no lake, it is of another kind, or two writers contradict each other."""
