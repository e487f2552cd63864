"""What the role of a server means for its commands.

    primary   writes are taken, if there are as many good replicas as min-replicas-to-write asks for
    replica   another server decides what the data is: writes of clients are refused, and a key that
              is past its time stays until the primary says DEL

The server says which role it is and counts its replicas; the gates hold the consequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.commands.api import gates

if TYPE_CHECKING:
    from forebay.engine.engine import Engine


def set_role(engine: Engine, is_replica: bool) -> None:
    """From now on a primary decides what the data is, or we do."""
    engine.is_replica = is_replica
    refresh(engine)


def count_replicas(engine: Engine, good: int) -> None:
    """So many replicas were heard lately."""
    engine.good_replicas = good
    refresh(engine)


def refresh(engine: Engine) -> None:
    """Open and shut the gates; settings may have changed."""
    settings, is_replica = engine.settings, engine.is_replica
    engine.ctx.keeps_expired = is_replica or bool(engine.gate & gates.PAUSED)
    engine.set_gate(gates.READONLY_REPLICA, is_replica and settings.replica_read_only)
    asks = settings.min_replicas_max_lag_s > 0 and not is_replica
    few = engine.good_replicas < settings.min_replicas_to_write
    engine.set_gate(gates.FEW_REPLICAS, asks and few)
