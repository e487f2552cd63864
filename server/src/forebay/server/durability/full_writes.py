"""All data into one file: a snapshot, or the commands that make it.

The same functions run in the server (SAVE) and in a child (BGSAVE, BGREWRITEAOF).
A file is written under a temporary name, and the caller renames it.  It is synced as it
grows, so that the last sync has little to do and does not delay other files for long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from forebay.commands.api.settings import Settings
from forebay.core.keyspace import Keyspace
from forebay.persistence.aof.rewrite import RewriteOptions, rewrite
from forebay.persistence.files import Disk, WriteFile
from forebay.persistence.rdb.format import STREAM_NAME
from forebay.persistence.rdb.snapshot import SaveOptions, save
from forebay.replication.history import Position

#: A growing file is synced whenever it has this many unsynced bytes.
SYNC_BYTES = 32 << 20

Report = Callable[[int, int], None]


def no_report(keys: int, size: int) -> None:
    """Report no progress."""


class Sink:
    """Takes the pieces of a file; syncs now and then."""

    def __init__(self, file: WriteFile) -> None:
        self.file = file
        self.synced = 0

    def __call__(self, piece: bytes) -> None:
        self.file.write(piece)
        if self.file.size - self.synced >= SYNC_BYTES:
            self.file.sync()
            self.synced = self.file.size


def save_options(
    settings: Settings, now_ms: int, used_bytes: int, is_base: bool, position: Position | None
) -> SaveOptions:
    """How to write a snapshot; ``position``: its place in the stream of changes."""
    aux = [
        (b"ctime", b"%d" % (now_ms // 1000)),
        (b"used-mem", b"%d" % used_bytes),
        (b"aof-base", b"%d" % is_base),
    ]
    if position is not None:
        aux += [
            (b"repl-stream-db", b"%d" % max(0, position.db_index)),
            (STREAM_NAME, position.replid.encode()),
            (b"repl-offset", b"%d" % position.offset),
        ]
    return SaveOptions(
        version=settings.rdb_format,
        compress=settings.rdbcompression,
        checksum=settings.rdbchecksum,
        aux=aux,
    )


def rewrite_options(settings: Settings, position: Position | None) -> RewriteOptions:
    """How to write a base of commands; ``position`` as above."""
    comment = b"" if position is None else position.line()
    return RewriteOptions(settings.stream_idmp_duration_s, settings.stream_idmp_maxsize, comment)


def write_snapshot(
    disk: Disk, path: str, keyspace: Keyspace, options: SaveOptions, report: Report = no_report
) -> int:
    """Write all data as a snapshot, and sync the file; its size."""
    return _write(disk, path, lambda sink: save(keyspace, sink, options), report)


def write_commands(
    disk: Disk, path: str, keyspace: Keyspace, options: RewriteOptions, report: Report = no_report
) -> int:
    """Write all data as commands, and sync the file; its size."""
    return _write(disk, path, lambda sink: rewrite(keyspace, sink, options), report)


def _write(disk: Disk, path: str, steps: Callable[[Sink], Iterator[int]], report: Report) -> int:
    file = disk.create(path)
    try:
        for keys in steps(Sink(file)):
            report(keys, file.size)
        file.sync()
        return file.size
    finally:
        file.close()


def remove_if_there(disk: Disk, path: str) -> None:
    """Remove a temporary file, if it exists."""
    if disk.exists(path):
        disk.remove(path)
