"""Reading the AOF back at start: which files, in which order, and their verified commands.

    loader = AofLoader(disk, folder, name, note)
    loader.prepare()
    for part in loader.parts():             base first, then the increments
        reader = loader.open(part)          (a base that is an RDB: the snapshot loader)
        while reader.next_range():
            run(reader.buf, reader.start, reader.end)
        loader.settle(reader)
    aof.resume(loader.resume())

Rules
  1. Nothing runs before it is verified.  A range holds whole commands and no '#' lines; a
     record is in it only if its seal is valid.
  2. In a long part without seals (a Redis wrote it) the reader looks ahead to the next
     seal or the end of the file before it returns the first command.
  3. Only the last file that holds anything may end unfinished: an increment is
     synced before the first line of the next one is written.
  4. A cut never destroys data: the bytes are copied and synced first, and nothing is cut
     before all good commands have run.
  5. ``position`` names the offset of the loaded data in a primary's stream; if it is
     empty, the server asks for all data.  Units of a turn lead to one offset together, so
     they share one seal (#TURN): a server that died while it wrote them continues at the
     offset before them.  Nothing is lost: replies, and acknowledgements to a primary, are
     sent only after the write of the whole turn.
"""

from __future__ import annotations

import re

from forebay.errors import CorruptDataError
from forebay.persistence.aof.damage import Damage, begins_like_aof, judge
from forebay.persistence.aof.manifest import (
    BASE,
    Entry,
    Manifest,
    format_manifest,
    manifest_name,
    parse_manifest,
)
from forebay.persistence.aof.scanner import COMMANDS_OF_ONE_UNIT, MORE
from forebay.persistence.aof.seals import SEAL_SIZE
from forebay.persistence.aof.window import AofWindow
from forebay.persistence.aof.writer import Note, ResumePoint
from forebay.persistence.files import Disk, join, keep_copy, parent, replace_file

#: How much may wait for its seal before the reader looks ahead.
LOOK_AHEAD = 1 << 20
RDB_MAGIC = b"REDIS"
#: The approximate size of a range; a single unit may be longer.
RANGE = 1 << 18


class AofPart:
    """One file to be loaded."""

    def __init__(self, path: str, name: str, size: int, kind: str) -> None:
        self.path, self.name, self.size, self.kind = path, name, size, kind
        #: Whether its end may be unfinished.
        self.is_last = False


class AofReader:
    """The verified commands of one file, range by range."""

    def __init__(self, disk: Disk, part: AofPart, start: int, truncated_ok: bool = True) -> None:
        self.disk, self.part, self.truncated_ok = disk, part, truncated_ok
        self.window = AofWindow(disk.open_read(part.path), start)
        self.scanner = self.window.scanner
        self.scanner.limit = RANGE
        self.damage: Damage | None = None
        self.start = 0
        self.end = 0
        self.is_done = False

    @property
    def buf(self) -> bytearray:
        """The bytes of the range; valid until the next one."""
        return self.scanner.buf

    @property
    def offset(self) -> int:
        """Where in the file the range begins."""
        return self.scanner.offset_of(self.start)

    @property
    def done(self) -> int:
        """How much of the file has been read."""
        return self.scanner.good_at

    @property
    def size(self) -> int:
        """How much of the file is good; final after next_range has returned False."""
        return self.damage.offset if self.damage else self.window.file.size

    @property
    def crc(self) -> int:
        """The checksum at that size, with which the next record begins."""
        return self.damage.crc if self.damage else self.scanner.crc

    @property
    def is_sealed(self) -> bool:
        """Whether it ends with a seal there."""
        return self.scanner.seals > 0 and self.scanner.seal_at == self.size

    def file_offset(self, at: int) -> int:
        """The file offset of buf[at]."""
        return self.scanner.offset_of(at)

    def next_range(self) -> bool:
        """Whether there are more commands: buf[start:end].

        CorruptDataError: the file is damaged, and it is not only its end.
        """
        scanner = self.scanner
        scanner.start = scanner.good
        while not self.is_done:
            code = scanner.step()
            if scanner.good > scanner.start:
                break
            if self.damage is not None and scanner.good_at >= self.damage.offset:
                self.is_done = True
            elif code != MORE or not self.more():
                self.finish(code)
        self.start, self.end = scanner.start, scanner.good
        return self.end > self.start

    def more(self) -> bool:
        """Read more of the file; False at its end."""
        scanner = self.scanner
        waiting = scanner.unit_at - scanner.good_at
        if waiting > LOOK_AHEAD and scanner.units_since_seal > COMMANDS_OF_ONE_UNIT:
            self.look_ahead()
            return True
        return self.window.more()

    def look_ahead(self) -> None:
        """Find out how far units without a seal may be trusted."""
        scanner = self.scanner
        with self.disk.open_read(self.part.path) as file:
            probe = AofWindow(file, scanner.good_at, scanner.seal_crc)
            code = probe.walk_to_seal()
            if probe.scanner.seals > 0:
                scanner.trust(probe.scanner.seal_at)
            else:
                self.conclude(judge(self.disk, self.part.path, probe.scanner, code))

    def finish(self, code: int) -> None:
        """The scanner cannot go on: the end of the file, or damage."""
        if self.damage is None:
            self.conclude(judge(self.disk, self.part.path, self.scanner, code))
        if self.scanner.good == self.scanner.start:
            self.is_done = True

    def conclude(self, damage: Damage | None) -> None:
        """Trust the good part up to the end of the file or the damage; raise if that is no tail."""
        if damage is None:
            self.scanner.trust(self.window.file.size)
            return
        if not self.part.is_last:
            damage.objection = damage.objection or "it is not the last file of the AOF"
        elif damage.is_tail and not self.truncated_ok:
            damage.objection = "aof-load-truncated is no"
        damage.is_tail = not damage.objection
        self.damage = damage
        if not damage.is_tail:
            raise CorruptDataError(describe(damage))
        self.scanner.trust(damage.offset)

    def close(self) -> None:
        """Done with the file."""
        self.window.file.close()


def describe(damage: Damage) -> str:
    """The message for a person about damage that prevents the start."""
    return (
        f"{damage.path} is damaged at offset {damage.offset}: {damage.reason}, and "
        f"{damage.objection}. Restore the file, or cut it there (the {damage.lost_bytes} bytes "
        f"after it are kept in a file of their own): {damage.cure}"
    )


class AofLoader:
    """The whole AOF of a server at start."""

    def __init__(
        self, disk: Disk, folder: str, name: str, note: Note, truncated_ok: bool = True
    ) -> None:
        self.disk, self.folder, self.name, self.note = disk, folder, name, note
        self.truncated_ok = truncated_ok
        self.manifest = Manifest()
        self.total_bytes = 0
        self.point: ResumePoint | None = None
        #: The offset in a primary's stream that the increments lead to, as in scanner.py.
        self.position: bytes | None = None
        self.found: list[AofPart] = []

    def manifest_path(self) -> str:
        """Where the manifest is."""
        return join(self.folder, manifest_name(self.name))

    def old_path(self) -> str:
        """Where a Redis before 7 kept its whole AOF."""
        return join(parent(self.folder), self.name)

    def exists(self) -> bool:
        """Whether there is an AOF, or the rest of one."""
        disk = self.disk
        if disk.exists(self.manifest_path()) or bool(self.strays()):
            return True
        return disk.exists(self.old_path()) and not disk.is_folder(self.old_path())

    def prepare(self) -> None:
        """Find the files; an AOF without a manifest gets one after all of it is loaded."""
        if self.disk.exists(self.manifest_path()):
            self.read_manifest()
        else:
            self.manifest = self.made_manifest()
        self.find_parts()

    def look(self) -> None:
        """Find the files and change nothing, for callers that only read."""
        self.read_manifest()
        self.find_parts()

    def read_manifest(self) -> None:
        """Which files there are."""
        path = self.manifest_path()
        self.manifest = parse_manifest(self.disk.read(path), path)

    def find_parts(self) -> None:
        """Check that all files exist, and their types."""
        self.found = [self.look_at(entry) for entry in self.manifest.loaded()]
        self.total_bytes = sum(part.size for part in self.found)
        filled = [part for part in self.found if part.size > 0] or self.found
        for part in self.found[self.found.index(filled[-1]) :] if filled else []:
            part.is_last = True
        self.point = ResumePoint(self.manifest, 0, 0, is_sealed=False)

    def look_at(self, entry: Entry) -> AofPart:
        """A file of the AOF, and its content."""
        path = self.old_path() if self.is_half_upgraded() else join(self.folder, entry.name)
        if not self.disk.exists(path):
            raise CorruptDataError(
                f"{path} is missing, though {self.manifest_path()} names it; "
                "restore it, or the data since then cannot be loaded"
            )
        with self.disk.open_read(path) as file:
            is_rdb = file.read(len(RDB_MAGIC)) == RDB_MAGIC
            return AofPart(path, entry.name, file.size, "rdb" if is_rdb else "commands")

    def parts(self) -> list[AofPart]:
        """The files in the order of loading."""
        return self.found

    def open(self, part: AofPart, start: int = 0) -> AofReader:
        """Read the commands of a file, from ``start`` on (after an RDB preamble)."""
        return AofReader(self.disk, part, start, self.truncated_ok)

    def settle(self, reader: AofReader) -> None:
        """A file was read to its end: cut off an unfinished end, and keep a copy of it."""
        reader.close()
        self.note_position(reader)
        damage = reader.damage
        if damage is not None:
            copy = cut(self.disk, damage)
            self.note(
                "warning",
                f"{damage.path}: unfinished end at offset {damage.offset} ({damage.reason}); "
                f"cut there, {damage.lost_bytes} bytes kept in {copy}",
            )
        last = self.manifest.last()
        if last is not None and reader.part.name == last.name:
            self.point = ResumePoint(self.manifest, reader.size, reader.crc, reader.is_sealed)

    def note_position(self, reader: AofReader) -> None:
        """A file was read: update the offset in a primary's stream.  A unit that ran without a seal
        may lack its comment.
        """
        scanner = reader.scanner
        named = scanner.position
        if scanner.units_since_seal > 0 and reader.size > scanner.seal_at:
            named = b""
        if named is not None:
            self.position = named

    def resume(self) -> ResumePoint:
        """Where the AOF continues; an old AOF is converted to the present form."""
        if self.point is None:
            raise ValueError("nothing was loaded")
        if not self.disk.exists(self.manifest_path()):
            self.disk.make_folder(self.folder)
            replace_file(self.disk, self.manifest_path(), format_manifest(self.manifest))
        if self.is_half_upgraded():
            self.disk.rename(self.old_path(), join(self.folder, self.name))
        return self.point

    # Logs that have no manifest

    def strays(self) -> list[str]:
        """Files of the AOF that hold data (more than a first line), by name."""
        if not self.disk.is_folder(self.folder):
            return []
        pattern = re.compile(re.escape(self.name) + r"\.[0-9]+\.(base\.(rdb|aof)|incr\.aof)")
        return [
            name
            for name in self.disk.names(self.folder)
            if pattern.fullmatch(name) and self.disk.size(join(self.folder, name)) > SEAL_SIZE
        ]

    def made_manifest(self) -> Manifest:
        """List the files of an AOF whose manifest was not written yet."""
        if strays := self.strays():
            return self.first_files(strays)
        if not self.disk.exists(self.old_path()):
            raise CorruptDataError(f"there is no AOF in {self.folder}")
        self.check_old()
        # As in Redis 7: the old file becomes the base, under its old name.
        self.note("notice", f"{self.old_path()} becomes the base of {self.folder}")
        manifest = Manifest()
        manifest.base = Entry(self.name, 1, BASE)
        return manifest

    def check_old(self) -> None:
        """Do not treat a file as an AOF only because of its name."""
        with self.disk.open_read(self.old_path()) as file:
            is_rdb = file.read(len(RDB_MAGIC)) == RDB_MAGIC
            if not is_rdb and not begins_like_aof(file):
                raise CorruptDataError(
                    f"{self.old_path()} is not an AOF: its first bytes are no record, at offset 0; "
                    "move it away, or restore the AOF"
                )

    def first_files(self, strays: list[str]) -> Manifest:
        """Accept one case: the very first base was written, but not its manifest.  Else refuse."""
        first = [f"{self.name}.1.base.rdb", f"{self.name}.1.base.aof", f"{self.name}.1.incr.aof"]
        bases = [name for name in strays if name in first[:2]]
        if len(bases) != 1 or not set(strays) <= set(first):
            raise CorruptDataError(
                f"{self.manifest_path()} is missing, but {join(self.folder, strays[0])} is there; "
                "restore the manifest, or move the folder away to start without its data"
            )
        manifest = Manifest()
        manifest.base = Entry(bases[0], 1, BASE)
        if first[2] in self.disk.names(self.folder):
            manifest.increments = [Entry(first[2], 1, "i")]
        self.note("warning", f"{self.manifest_path()} was not written yet; made from its files")
        return manifest

    def is_half_upgraded(self) -> bool:
        """Whether the manifest names the old file as base, at its old place."""
        base = self.manifest.base
        if base is None or base.name != self.name or self.manifest.increments:
            return False
        is_here = self.disk.exists(join(self.folder, self.name))
        return not is_here and self.disk.exists(self.old_path())


def cut(disk: Disk, damage: Damage) -> str:
    """Cut a file where it is damaged; the path of the copy of the removed bytes."""
    copy = keep_copy(disk, damage.path, damage.offset)
    disk.truncate(damage.path, damage.offset)
    return copy
