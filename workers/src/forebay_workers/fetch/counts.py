"""Delivery counts of our entries: how to set them, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence

from forebay_workers.servers.abilities import Abilities
from forebay_workers.servers.link import Command


def count(
    stream: str, group: str, consumer: str, keys: Sequence[bytes], starts: int, idle_ms: int = 0
) -> Command:
    """The command that sets the count; it also resets the idle time to 0.

    ``idle_ms``: skip entries that are idle for less: another consumer owns them.
    """
    return ("XCLAIM", stream, group, consumer, idle_ms, *keys, "RETRYCOUNT", starts, "JUSTID")


def begun_before(delivered: int, abilities: Abilities) -> int:
    """How often a handler has started with an entry that is ours but never reached us.

    If reads can claim, every delivery counts, this one too.  Otherwise only the delivery of a new
    entry counts; a claim leaves the count as it was.
    """
    return max(0, delivered - 1) if abilities.claim or delivered == 1 else delivered
