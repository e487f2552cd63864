"""Removal of everything that has expired: keys, remembered producers, stale cache entries.

The engine calls this between turns, at most once in PERIOD_MS, and removes a slice at a time.
An expired key that a client asks for before that is removed by Context.lookup().
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.commands.api.gates import LOADING, PAUSED
from forebay.commands.keyspace.expiry import expire_cycle, next_expiry_ms

if TYPE_CHECKING:
    from forebay.engine.engine import Engine

# How often to search for expired keys, and how many to remove in one turn.
PERIOD_MS = 10
BUDGET = 500


def expire(engine: Engine, now_ms: int) -> None:
    """Remove expired data, a slice at a time; no keys while clients are held back."""
    engine.expiry_ms = now_ms
    engine.next_expiry_ms = -1
    engine.ctx.forget_stale()
    if engine.gate & LOADING:
        return
    engine.idmp_cycle.tick(now_ms)
    if engine.active_expire and not engine.gate & PAUSED and not engine.is_replica:
        expire_keys(engine, now_ms)
        due_ms = next_expiry_ms(engine.keyspace)
        if due_ms is not None:
            engine.next_expiry_ms = max(due_ms, now_ms)


def expire_keys(engine: Engine, now_ms: int) -> None:
    """Remove the keys that are due, and measure the time it takes."""
    stats = engine.stats
    before, started_us = stats.expired_keys, engine.ticker.us()
    if expire_cycle(engine.ctx, BUDGET):
        engine.expiry_ms = now_ms - PERIOD_MS
    stats.expired_unasked += stats.expired_keys - before
    stats.expire_us += engine.ticker.us() - started_us
