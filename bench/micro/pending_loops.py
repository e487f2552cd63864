"""The loops that pending.py times; compiled, so that a call costs the same as in the server."""

from __future__ import annotations

from forebay.core.group import Consumer, Group, is_referenced, min_last_id
from forebay.core.pel import Pending
from forebay.core.stream import Stream


def add_in_order(pending: Pending, owner_no: int, n: int) -> int:
    """Pending entries as XREADGROUP makes them; a thousand share a time."""
    for i in range(n):
        pending.add(1000 + i, 0, owner_no, i // 1000, 1)
    return 0


def deliver(group: Group, stream: Stream, consumer: Consumer, n: int) -> int:
    """The whole delivery of a new entry, except reading it."""
    for i in range(n):
        group.deliver(stream, 1000 + i, 0, consumer, i // 1000, False)
    return 0


def ack(group: Group, n: int, step: int) -> int:
    """Acknowledge entry 0, step, 2*step ... modulo n."""
    at = 0
    for _ in range(n):
        group.ack(1000 + at, 0)
        at = (at + step) % n
    return 0


def claim(group: Group, consumer: Consumer, n: int, step: int) -> int:
    """Hand entries to another consumer, in the same order."""
    at = 0
    for i in range(n):
        group.claim(group.pending.find(1000 + at, 0), consumer, n, n + i // 1000)
        at = (at + step) % n
    return 0


def walk(pending: Pending) -> int:
    """Visit all by ID, as XPENDING does."""
    total = 0
    slot = pending.first()
    while slot >= 0:
        total += pending.deliveries(slot)
        slot = pending.after(slot)
    return total


def ask(stream: Stream, n: int, step: int) -> int:
    """Ask for entries that all groups have read and none has pending, the longest way."""
    at = found = 0
    low_ms, low_seq = min_last_id(stream)
    for _ in range(n):
        found += is_referenced(stream, 1000 + at, 1, low_ms, low_seq)
        at = (at + step) % n
    return found
