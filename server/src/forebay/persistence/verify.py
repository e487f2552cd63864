"""Checks a file or a whole AOF: its content, its first fault, and what can be done.

    verify(disk, path)     only reads; a Report
    fix(disk, path)        cuts what cannot be loaded, and keeps every byte of it next to the file

``path`` may be a data folder, the folder of an AOF, its manifest, one file with
commands or one snapshot.  Both use the checks of the loader (aof/loader.py,
rdb/snapshot.py), so what they call good can be loaded.

Steps of ``fix``
  1. Commands: the file is cut after its last good unit; the rest is saved as
     ``<file>.corrupt-<offset>``.
  2. Later files of the same AOF are set aside as a whole, since they hold the
     changes after the lost part: they are renamed and removed from the manifest.
  3. A snapshot cannot be repaired: it is valid only as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from forebay.core.keyspace import Keyspace
from forebay.errors import CorruptDataError
from forebay.persistence.aof.damage import Damage, begins_like_aof
from forebay.persistence.aof.loader import RDB_MAGIC, AofLoader, AofPart, AofReader, cut
from forebay.persistence.aof.manifest import format_manifest
from forebay.persistence.files import (
    LOCK_NAME,
    Disk,
    Lock,
    corrupt_path,
    is_temp,
    join,
    last_name,
    parent,
    replace_file,
)
from forebay.persistence.rdb.snapshot import LoadOptions, SnapshotLoader

#: Bytes processed, bytes in total.
Progress = Callable[[int, int], None]
MANIFEST = ".manifest"
#: The endings of files that are complete by themselves.
SINGLE = (".rdb", ".aof")
#: A part of an AOF that is meaningless without those before it.
INCREMENT = ".incr.aof"
#: More databases than any server has.
DATABASES = 1 << 10


@dataclass
class PartReport:
    """One file."""

    path: str
    #: rdb or commands
    kind: str
    size: int
    #: Whether it is part of an AOF, or a single file.
    is_in_aof: bool = False
    #: How much of it is good.
    good_bytes: int = 0
    commands: int = 0
    units: int = 0
    seals: int = 0
    keys: int = 0
    #: Values of unsupported types: name -> how many.
    foreign: dict[str, int] = field(default_factory=dict)
    #: Where its commands begin: after a snapshot, if there is one.
    commands_at: int = 0
    #: Whether it is neither an AOF nor a snapshot.
    is_strange: bool = False
    damage: Damage | None = None
    #: The fault, and what can be done about it; empty if there is none.
    problem: str = ""
    advice: str = ""

    @property
    def is_good(self) -> bool:
        """Whether all of it can be loaded."""
        return not self.problem


@dataclass
class Report:
    """The report about all files."""

    path: str
    #: The manifest of the AOF, if there is one.
    manifest: str | None = None
    parts: list[PartReport] = field(default_factory=list)
    #: The fault of the AOF as a whole.
    problem: str = ""
    #: Whether its commands were run; code that can run them fills in this and the next two.
    is_run: bool = False
    #: The command at which a server stops: file, offset, reason.
    refusal: str = ""
    #: Commands that a server skips, or refuses: name -> how many.
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether all of it can be loaded."""
        return not self.problem and not self.refusal and all(part.is_good for part in self.parts)

    @property
    def has_foreign(self) -> bool:
        """Whether some of it is unsupported: a server refuses it, unless it is told to skip it."""
        return bool(self.left_out) or any(part.foreign for part in self.parts)

    @property
    def is_loadable(self) -> bool:
        """Whether a server starts with it, perhaps after cutting an unfinished end."""
        return (
            not self.problem
            and not self.refusal
            and all(
                part.is_good or (part.damage is not None and part.damage.is_tail)
                for part in self.parts
            )
        )


class Place:
    """The files at a path."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.disk, self.path = disk, path
        #: The manifest of an AOF, if there is one.
        self.manifest: str | None = None
        #: Single files: snapshots, AOFs of an old Redis.
        self.files: list[str] = []
        if disk.is_folder(path):
            self.search()
        elif path.endswith(MANIFEST):
            self.manifest = path
        else:
            self.files = [path]

    def search(self) -> None:
        """Find the AOF and the snapshots in a folder, and the AOF in a folder inside it."""
        names = self.disk.names(self.path)
        inside = [join(self.path, name) for name in names]
        folders = [self.path, *(path for path in inside if self.disk.is_folder(path))]
        found = [
            join(folder, name)
            for folder in folders
            for name in self.disk.names(folder)
            if name.endswith(MANIFEST)
        ]
        if len(found) > 1:
            raise CorruptDataError(f"{self.path} has {len(found)} manifests in it; name one")
        if found:
            self.manifest = found[0]
        if not found or parent(found[0]) != self.path:
            single = [name for name in names if name.endswith(SINGLE) and not is_temp(name)]
            self.files = [join(self.path, name) for name in single]
        if not found and not self.files:
            raise CorruptDataError(f"{self.path} has neither an AOF nor a snapshot in it")

    def loader(self) -> AofLoader:
        """The loader of the AOF's files."""
        assert self.manifest is not None, "no AOF here"
        name = last_name(self.manifest)[: -len(MANIFEST)]
        return AofLoader(self.disk, parent(self.manifest), name, no_note)


def verify(disk: Disk, path: str, progress: Progress | None = None) -> Report:
    """Check everything that belongs to ``path``; DiskError if it cannot be read."""
    place = Place(disk, path)
    report = Report(path, place.manifest)
    parts: list[AofPart] = []
    if place.manifest is not None:
        loader = place.loader()
        try:
            loader.look()
        except CorruptDataError as error:
            report.problem = str(error)
        parts = loader.parts()
    for file in place.files:
        single = look_at(disk, file)
        single.is_last = True
        parts = [*parts, single]
    total, done = sum(part.size for part in parts), 0
    for part in parts:
        is_single = part.path in place.files
        if is_single and part.kind == "commands" and not is_aof(disk, part.path):
            part_report = no_aof(part)
        else:
            part_report = verify_part(disk, part, done, total, progress)
        part_report.is_in_aof = not is_single
        report.parts.append(part_report)
        done += part.size
    return report


def is_aof(disk: Disk, path: str) -> bool:
    """Whether a file that no manifest names begins like an AOF."""
    with disk.open_read(path) as file:
        return begins_like_aof(file)


def no_aof(part: AofPart) -> PartReport:
    """The report about a file that is something else: it must not be cut to its good records."""
    report = PartReport(part.path, part.kind, part.size, is_strange=True)
    report.problem = "not an AOF: its first bytes are no record, at offset 0"
    report.advice = "nothing is done to it; is this the right file?"
    return report


def aofs_at(disk: Disk, path: str) -> list[list[AofPart]]:
    """The AOFs at a path that can be run from their beginning, each with its files in order."""
    place = Place(disk, path)
    logs: list[list[AofPart]] = []
    if place.manifest is not None:
        loader = place.loader()
        loader.look()
        logs.append(loader.parts())
    for file in place.files:
        part = look_at(disk, file)
        part.is_last = True
        # A snapshot has no commands, unless an old Redis wrote both into one file.
        if not file.endswith(INCREMENT) and not (part.kind == "rdb" and file.endswith(".rdb")):
            logs.append([part])
    return logs


def no_note(level: str, text: str) -> None:
    """Ignore a note."""


def look_at(disk: Disk, path: str) -> AofPart:
    """A single file, and its content."""
    with disk.open_read(path) as file:
        is_rdb = file.read(len(RDB_MAGIC)) == RDB_MAGIC
        return AofPart(path, last_name(path), file.size, "rdb" if is_rdb else "commands")


def verify_part(
    disk: Disk, part: AofPart, before: int, total: int, progress: Progress | None
) -> PartReport:
    """One file, from its first byte to its last."""
    report = PartReport(part.path, part.kind, part.size)

    def tell(done: int) -> None:
        if progress is not None:
            progress(before + done, total)

    if part.kind == "rdb":
        verify_snapshot(disk, part, report, tell)
    if report.is_good and report.good_bytes < part.size:
        verify_commands(disk, part, report, tell)
    return report


def verify_snapshot(
    disk: Disk, part: AofPart, report: PartReport, tell: Callable[[int], None]
) -> None:
    """A snapshot; commands may follow it in the same file."""
    keyspace = Keyspace(DATABASES)
    options = LoadOptions(skip_foreign=True, allow_tail=True)
    with disk.open_read(part.path) as file:
        loader = SnapshotLoader(file.read, part.size, keyspace, options)
        try:
            for done in loader.steps():
                tell(done)
                # Examined, not needed: a snapshot may be larger than memory.
                loader.db.clear()
        except CorruptDataError as error:
            report.problem = str(error)
            report.advice = "a snapshot cannot be repaired: restore a copy of it"
            return
    report.keys = loader.keys_loaded
    report.foreign = loader.foreign
    report.good_bytes = loader.end


def verify_commands(
    disk: Disk, part: AofPart, report: PartReport, tell: Callable[[int], None]
) -> None:
    """Check commands, from the end of the good bytes."""
    report.commands_at = report.good_bytes
    reader = AofReader(disk, part, report.commands_at)
    try:
        while reader.next_range():
            tell(reader.done)
    except CorruptDataError:
        # Not a tail: ``damage`` has all details.
        pass
    finally:
        reader.close()
    report.commands = reader.scanner.commands
    report.units = reader.scanner.units
    report.seals = reader.scanner.seals
    report.good_bytes = reader.size
    report.damage = reader.damage
    if reader.damage is not None:
        explain(report, reader.damage)


def explain(report: PartReport, damage: Damage) -> None:
    """Describe the fault and what can be done."""
    copy = f"{damage.path}.corrupt-{damage.offset}"
    report.problem = f"{damage.reason}, at offset {damage.offset}"
    if damage.is_tail:
        report.problem += " (an unfinished end)"
        report.advice = f"the server cuts it off when it starts, as --fix does: {copy} keeps "
    else:
        report.problem += f", and {damage.objection}"
        report.advice = f"restore the file, or cut it there ({damage.cure}): {copy} keeps "
    report.advice += f"the last {damage.lost_bytes} bytes"


# Repair


def fix(disk: Disk, path: str) -> list[str]:
    """Cut what cannot be loaded; returns the actions, a line each.

    ConfigError: a server runs there.  CorruptDataError: this cannot be repaired.
    """
    locks = lock_around(disk, path)
    try:
        return repair(disk, path)
    finally:
        for lock in locks:
            lock.release()


def lock_around(disk: Disk, path: str) -> list[Lock]:
    """Lock out servers that use this place, wherever in it their lock is."""
    places = [path, parent(path), parent(parent(path))]
    return [
        disk.lock(place)
        for place in dict.fromkeys(places)
        if disk.is_folder(place) and disk.exists(join(place, LOCK_NAME))
    ]


def repair(disk: Disk, path: str) -> list[str]:
    """The same, for a caller that holds the lock."""
    report = verify(disk, path)
    if report.problem:
        raise CorruptDataError(report.problem)
    for part in report.parts:
        if not part.is_good and part.damage is None:
            raise CorruptDataError(f"{part.path}: {part.problem}; {part.advice}")
    done = []
    for at, part in enumerate(report.parts):
        if part.damage is not None and disk.exists(part.path):
            if part.is_in_aof:
                done += set_aside(disk, report, at + 1)
            copy = cut(disk, part.damage)
            done.append(f"cut {part.path} at offset {part.damage.offset}; {copy} keeps the rest")
    return done


def set_aside(disk: Disk, report: Report, first: int) -> list[str]:
    """Remove the files from ``first`` on from the AOF: they follow the lost part."""
    later = [part.path for part in report.parts[first:] if part.is_in_aof and part.size > 0]
    if not later or report.manifest is None:
        return []
    loader = Place(disk, report.manifest).loader()
    loader.look()
    manifest = loader.manifest.copy()
    names = {last_name(path) for path in later}
    manifest.increments = [entry for entry in manifest.increments if entry.name not in names]
    replace_file(disk, report.manifest, format_manifest(manifest))
    done = []
    for path in later:
        copy = corrupt_path(disk, path, 0)
        disk.rename(path, copy)
        done.append(f"set {path} aside as {copy}: it follows what is lost")
    return done
