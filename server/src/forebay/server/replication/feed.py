"""The end of a turn, for replicas: its effects become the next bytes of the stream of changes.

    effects --unread--> primary side: backlog, replicas
       '---- + "#REPL:..." --> AOF            so that a restart knows the place of its data

The comment in the AOF is under the same seal as all units of the turn: they and the place in the
stream that they lead to are loaded together or not at all.  So a server that was killed, or lost
power, asks its primary for the rest of the stream, and not for all data.
"""

from __future__ import annotations

from forebay.commands.api.effects import Effects
from forebay.server.durability.aof_live import LiveAof
from forebay.server.net.turn_end import EffectsReader
from forebay.server.replication.primary import PrimarySide


class Feed(EffectsReader):
    """Reads the effects before the AOF does; off while there is no backlog."""

    def __init__(self, side: PrimarySide, live: LiveAof) -> None:
        super().__init__()
        self.is_off = True
        self.side = side
        self.live = live

    def wants_effects(self) -> bool:
        """Whether there may be replicas, and changes made here are part of their stream."""
        return self.side.feeds_effects

    def read(self, effects: Effects) -> None:
        """Take the units of this turn, and note in the AOF the place that they lead to.

        Some may have been taken already, because a PING or a message followed them.
        """
        self.side.ask_replicas()
        self.side.take(effects)
        if effects.noted < effects.out.size and self.live.aof is not None:
            position = self.side.where()
            if position is not None:
                effects.annotate(position.line())
