"""The server that an example runs on: FOREBAY_URL, or the usual port of this machine."""

from __future__ import annotations

import os
from typing import Any

import redis


def url() -> str:
    """Where the server is."""
    return os.environ.get("FOREBAY_URL") or "redis://127.0.0.1:6379"


def connect(*own_keys: str) -> Any:
    """A client whose replies are text; these keys are deleted first."""
    client = redis.Redis.from_url(url(), decode_responses=True)
    try:
        client.delete(*own_keys)
    except redis.ConnectionError:
        raise SystemExit(
            f"No server answers at {url()}. Start one with `forebay serve`, or set FOREBAY_URL."
        ) from None
    return client
