"""AOFs for tests: units, sealed files, and the results of a loader."""

from __future__ import annotations

import zlib
from array import array
from pathlib import Path

from forebay.persistence.aof.loader import AofLoader
from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.files import Disk
from forebay.wire.resp_writer import RespWriter
from testkit.forgetful_disk import ForgetfulDisk

FOLDER = "appendonlydir"
NAME = "appendonly.aof"


def command(*words: str | bytes | int) -> bytes:
    """A command as it is in an AOF."""
    raw = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(raw) + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in raw)


def transaction(*commands: bytes) -> bytes:
    """Several commands as one unit."""
    return command("MULTI") + b"".join(commands) + command("EXEC")


def units(*parts: bytes) -> tuple[RespWriter, array[int]]:
    """Units as the engine hands them over."""
    out = RespWriter()
    ends: array[int] = array("Q")
    for part in parts:
        out.raw(part)
        ends.append(out.size)
    return out, ends


def seal_all(*parts: bytes, marks: dict[int, int] | None = None, before: bytes = b"") -> bytes:
    """Units with their seals, as in a file of Forebay; marks: number of a unit -> offset."""
    marks = {0: 0, **(marks or {})}
    crc = zlib.crc32(before)
    text = [b"#CRC:%08x\r\n" % crc]
    for number, part in enumerate(parts):
        selects = part.removeprefix(command("MULTI")).startswith(command("SELECT", 0)[:16])
        mark = b"#SYNC:%d\r\n" % marks.get(number, 0) if selects or number in marks else b""
        crc = zlib.crc32(mark + part, crc)
        text.append(b"%b%b#CRC:%08x\r\n" % (mark, part, crc))
    return b"".join(text)


class Notes(list[str]):
    """The log messages, one line each."""

    def __call__(self, level: str, text: str) -> None:
        self.append(f"{level}: {text}")


def listener(notes: Notes | None) -> Notes:
    """The given one (which is false while it is empty), or a new one."""
    return Notes() if notes is None else notes


def new_aof(disk: Disk, root: str) -> AofWriter:
    """The empty AOF of a new server."""
    aof = AofWriter(disk, f"{root}/{FOLDER}", NAME, Notes())
    aof.begin_empty()
    return aof


def load(
    disk: Disk, root: str, notes: Notes | None = None, truncated_ok: bool = True
) -> tuple[bytes, AofLoader]:
    """All commands of an AOF, and the loader, which has finished."""
    loader = AofLoader(disk, f"{root}/{FOLDER}", NAME, listener(notes), truncated_ok)
    loader.prepare()
    found = []
    for part in loader.parts():
        reader = loader.open(part)
        try:
            while reader.next_range():
                found.append(bytes(reader.buf[reader.start : reader.end]))
        finally:
            reader.close()
        loader.settle(reader)
    return b"".join(found), loader


def reopen(disk: Disk, root: str, notes: Notes | None = None) -> tuple[bytes, AofWriter]:
    """Load an AOF and continue it."""
    content, loader = load(disk, root, notes)
    aof = AofWriter(disk, f"{root}/{FOLDER}", NAME, listener(notes))
    aof.resume(loader.resume())
    return content, aof


def aof_in_memory(*files: bytes) -> ForgetfulDisk:
    """The same on a disk of its own, below the folder "data"."""
    names = [f"{NAME}.{number}.incr.aof" for number in range(1, len(files) + 1)]
    lines = [f"file {name} seq {i} type i\n" for i, name in enumerate(names, 1)]
    found = {f"data/{FOLDER}/{name}": data for name, data in zip(names, files, strict=True)}
    return ForgetfulDisk({**found, f"data/{FOLDER}/{NAME}.manifest": "".join(lines).encode()})


def increment(number: int) -> str:
    """The path of an increment there."""
    return f"data/{FOLDER}/{NAME}.{number}.incr.aof"


def write_aof(root: Path, *files: bytes) -> list[Path]:
    """An AOF of these increments, with its manifest; the paths of the increments."""
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    lines, paths = [], []
    for number, content in enumerate(files, 1):
        path = folder / f"{NAME}.{number}.incr.aof"
        path.write_bytes(content)
        paths.append(path)
        lines.append(f"file {path.name} seq {number} type i\n")
    (folder / f"{NAME}.manifest").write_text("".join(lines))
    return paths


def write_base(disk: ForgetfulDisk, content: bytes) -> str:
    """A new base in memory, as a child writes it."""
    path = f"data/{FOLDER}/temp-rewrite-2.aof"
    file = disk.create(path)
    file.write(content)
    file.sync()
    return path


def content_of(root: Path, notes: Notes | None = None) -> bytes:
    """All commands of the AOF below this folder."""
    return load(Disk(), str(root), notes)[0]


def prefixes(parts: tuple[bytes, ...]) -> list[bytes]:
    """The possible remains of these units: none, the first, the first two ..."""
    return [b"".join(parts[:n]) for n in range(len(parts) + 1)]


#: Units of every shape: after SELECT, a transaction, one whose value looks like a command.
ONE = command("SELECT", 0) + command("XADD", "s", "1-1", "f", "v")
TWO = transaction(command("XACK", "s", "g", "1-1"), command("XDEL", "s", "1-1"))
THREE = command("XADD", "s", "3-1", "f", b"\r\n*1\r\n$4\r\nPING\r\n")
