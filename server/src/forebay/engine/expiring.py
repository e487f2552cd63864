"""What goes by itself because its time is up: keys, remembered producers, stale finds.

The engine comes here between turns, at most once in PERIOD_MS, and removes a slice at a time.
A key that clients ask for before that is gone for them already: Context.lookup().
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.commands.api.gates import LOADING, PAUSED
from forebay.commands.keyspace.expiry import expire_cycle, next_expiry_ms

if TYPE_CHECKING:
    from forebay.engine.engine import Engine

# How often keys past their time are looked for, and how many are removed in one turn.
PERIOD_MS = 10
BUDGET = 500


def expire(engine: Engine, now_ms: int) -> None:
    """Forget what is past its time, a slice at a time; keys not while clients are held back."""
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
    """Remove the keys that are due, and count what that takes."""
    stats = engine.stats
    before, started_us = stats.expired_keys, engine.ticker.us()
    if expire_cycle(engine.ctx, BUDGET):
        engine.expiry_ms = now_ms - PERIOD_MS
    stats.expired_unasked += stats.expired_keys - before
    stats.expire_us += engine.ticker.us() - started_us
