"""The level of Redis that the commands follow; clients choose features by it."""

from __future__ import annotations

REDIS_VERSION = "8.10.0"
