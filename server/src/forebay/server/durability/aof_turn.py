"""The short path that every turn with a change takes: effects to the AOF."""

from __future__ import annotations

from collections.abc import Callable

from forebay.commands.api.effects import Effects
from forebay.errors import DiskError
from forebay.persistence.aof.writer import AofWriter
from forebay.server.net.turn_end import EffectsReader


class TurnAof(EffectsReader):
    """Effects in, AOF out; without an AOF the effects are only counted."""

    def __init__(
        self,
        effects: Effects,
        is_needed: Callable[[], bool],
        on_refusal: Callable[[DiskError], None],
    ) -> None:
        super().__init__()
        self.effects = effects
        self.is_needed = is_needed
        #: Called when the disk refused the effects of a turn.
        self.on_refusal = on_refusal
        self.aof: AofWriter | None = None
        #: Sync with each write: ``appendfsync always``.
        self.sync_each = False
        #: A write has failed: effects pile up until a call of write() succeeds.
        self.is_held = False
        #: ``effects.total`` at the last write that succeeded.
        self.written = effects.total

    def wants_effects(self) -> bool:
        """Whether changes must be recorded: for the AOF, or counted for the save points."""
        return self.is_needed()

    def read(self, effects: Effects) -> None:
        """Write the changes of this turn, before its replies go out."""
        if not self.is_held:
            try:
                self.write()
            except DiskError as error:
                self.on_refusal(error)

    def write(self) -> None:
        """Write all units; raises DiskError, and keeps them if they are not written.

        With ``sync_each`` a DiskError may also mean that they are written but not synced: then
        the code that catches it must end the process.
        """
        aof = self.aof
        effects = self.effects
        if aof is not None:
            aof.append(effects.out, effects.ends)
            self.written = effects.total
            if self.sync_each:
                aof.sync()
        effects.clear()
