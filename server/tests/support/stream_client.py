"""A client whose stream s already has entries and groups, as a start for tests."""

from __future__ import annotations

from typing import Any

from testkit.engine_client import EngineClient


def stream_client(entries: int = 5) -> EngineClient:
    """Stream s holds 1-0, 2-0, ... and has no group."""
    client = EngineClient()
    for i in range(1, entries + 1):
        client("XADD", "s", f"{i}-0", "f", "v")
    client.effects()
    return client


def deliver(client: EngineClient, group: str, consumer: str, count: int = 0) -> None:
    """Deliver new entries of s to the consumer (0: all); the group is made if it is missing."""
    client("XGROUP", "CREATE", "s", group, "0")
    client("XREADGROUP", "GROUP", group, consumer, "COUNT", str(count), "STREAMS", "s", ">")
    client.effects()


def pending_ids(client: EngineClient, group: str = "g") -> list[bytes]:
    """The IDs that the group of s has pending, in order."""
    return [row[0] for row in client("XPENDING", "s", group, "-", "+", "100")]


def stream_info(client: EngineClient, key: str = "s") -> dict[bytes, Any]:
    """XINFO STREAM as a dictionary."""
    flat = client("XINFO", "STREAM", key)
    return dict(zip(flat[::2], flat[1::2], strict=True))
