"""Would a server start with this AOF?  Loads it as a server does, and touches no file.

    outcome = rehearse(disk, parts, databases, progress)
    outcome.refusal      file, offset and command, if a server would stop there
    outcome.left_out     commands on keys of types that a server does not have

Intact bytes do not prove that the commands in them can be run; only running them
does.  It takes the memory and the time of a start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from forebay.commands.api.settings import Settings
from forebay.engine.engine import Engine
from forebay.errors import CorruptDataError
from forebay.persistence.aof.loader import AofLoader, AofPart, AofReader
from forebay.persistence.files import Disk
from forebay.persistence.verify import no_note
from forebay.server.durability.loading import Loading
from forebay.server.logger import Log
from forebay.server.net.timers import Clock

#: Progress is reported this often.
SLICE_MS = 100


@dataclass
class Outcome:
    """The result of a rehearsal."""

    #: Why a server does not start; empty if it does.
    refusal: str = ""
    #: Commands that it leaves out, if the settings allow that: name -> how many.
    left_out: dict[str, int] = field(default_factory=dict)


class Onlooker(AofLoader):
    """Reads the files of an AOF, and does not cut an unfinished end."""

    def __init__(self, disk: Disk, parts: list[AofPart]) -> None:
        super().__init__(disk, "", "", no_note)
        self.found = parts
        self.total_bytes = sum(part.size for part in parts)

    def prepare(self) -> None:
        """Nothing to do: the files are known."""

    def settle(self, reader: AofReader) -> None:
        """Close the file, and leave its end as it is."""
        reader.close()


def rehearse(
    disk: Disk, parts: list[AofPart], databases: int, progress: Callable[[int, int], None]
) -> Outcome:
    """Load these files, one after another; DiskError if one cannot be read."""
    settings = Settings(databases=databases, skip_foreign_types=True)
    clock = Clock()
    loading = Loading(settings, Engine(settings), disk, Log(clock, level="nothing"), clock)
    loading.begin(loading.from_aof(Onlooker(disk, parts)))
    try:
        while not loading.step(SLICE_MS):
            progress(loading.loaded_bytes, loading.total_bytes)
    except CorruptDataError as error:
        return Outcome(str(error))
    return Outcome("", loading.replayer.foreign.counts)
