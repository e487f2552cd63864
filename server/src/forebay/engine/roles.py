"""The consequences of a server's role for its commands.

    primary   writes are accepted, if there are at least min-replicas-to-write good replicas
    replica   the primary decides about the data: writes of clients are refused, and an expired key
              stays until the primary sends DEL

The server sets the role and counts its replicas; the gates hold the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.commands.api import gates

if TYPE_CHECKING:
    from forebay.engine.engine import Engine


def set_role(engine: Engine, is_replica: bool) -> None:
    """Set the role: replica or primary."""
    engine.is_replica = is_replica
    refresh(engine)


def count_replicas(engine: Engine, good: int) -> None:
    """Set the number of replicas that reported recently."""
    engine.good_replicas = good
    refresh(engine)


def refresh(engine: Engine) -> None:
    """Set the gates; settings may have changed."""
    settings, is_replica = engine.settings, engine.is_replica
    engine.ctx.keeps_expired = is_replica or bool(engine.gate & gates.PAUSED)
    engine.set_gate(gates.READONLY_REPLICA, is_replica and settings.replica_read_only)
    asks = settings.min_replicas_max_lag_s > 0 and not is_replica
    few = engine.good_replicas < settings.min_replicas_to_write
    engine.set_gate(gates.FEW_REPLICAS, asks and few)
