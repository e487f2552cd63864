"""Delivery counts of entries that are ours: how they are set, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from forebay_workers.servers.abilities import Abilities
from forebay_workers.servers.link import Command


def count(
    stream: str, group: str, consumer: str, keys: Sequence[bytes], starts: int, idle_ms: int = 0
) -> Command:
    """The command; it also sets their idle time back to 0.

    ``idle_ms``: leave those alone that are idle for less: somebody else has them.
    """
    return ("XCLAIM", stream, group, consumer, idle_ms, *keys, "RETRYCOUNT", starts, "JUSTID")


def begun_before(delivered: int, abilities: Abilities) -> int:
    """How often a handler has begun with an entry that is ours and never came to us.

    Where reading claims, every delivery is counted, this one too.  Elsewhere only that of a new
    entry is; a claim leaves the count as it was.
    """
    return max(0, delivered - 1) if abilities.claim or delivered == 1 else delivered
