"""The level of Redis that the commands follow; clients decide by it what they may use."""

from __future__ import annotations

REDIS_VERSION = "8.10.0"
