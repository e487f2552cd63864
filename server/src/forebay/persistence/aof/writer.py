"""The live AOF: units are appended to one increment; other files are created and removed.

    resume --> append append append ... --> rotate --> append ... --> adopt
    begin  -->   |                           |                          |
                 one write each,        a child writes          its file becomes the base,
                 seals included         a new base now          older files are history

Files, and when their content is safe
  1. ``append`` writes all units of a turn with one write, or raises and changes
     nothing; then the caller keeps the units and may try again.
  2. ``offset`` counts bytes written, ``synced_offset`` those that survive a power
     failure.  A sync in a thread is a SyncTicket.
  3. A failed sync makes the AOF suspect, permanently: the kernel may have dropped the
     bytes, and a second sync would succeed.  Only ``adopt`` ends that, because the new
     base is made from memory, not from those bytes.
  4. An increment is synced before the next one begins, so that only the last one can
     have lost its end.  If that fails, the next one stays empty (``new_file``).
  5. The manifest names a file only after it exists, and a file is deleted only when no
     manifest names it.  Numbers are never used twice: after an error it is unknown
     which manifest the disk has, and both must stay correct.
  6. After ``begin`` the AOF is pending: the files on disk do not match the data in
     memory.  Units go to a temp file that ``adopt`` makes part of the AOF.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from forebay.errors import DiskError
from forebay.persistence import files
from forebay.persistence.aof.manifest import (
    INCREMENT,
    Entry,
    Manifest,
    base_name,
    format_manifest,
    increment_name,
    manifest_name,
    parse_manifest,
)
from forebay.persistence.aof.seals import Sealer, mark_line, seal_line
from forebay.persistence.files import Disk, WriteFile, join, replace_file, temp_path
from forebay.wire.resp_writer import RespWriter

#: A line for the log of the server: its level (notice, warning) and the text.
Note = Callable[[str, str], None]


class ResumePoint:
    """Where loading ended: the files, and how the last increment ends."""

    def __init__(self, manifest: Manifest, size: int, crc: int, is_sealed: bool) -> None:
        self.manifest, self.size, self.crc, self.is_sealed = manifest, size, crc, is_sealed


class SyncTicket:
    """A sync for another thread; it may only call ``run``, once."""

    def __init__(self, file: WriteFile, offset: int, size: int) -> None:
        self.file, self.offset, self.size = file, offset, size

    def run(self) -> None:
        """Wait for the disk."""
        self.file.sync()


class AofWriter:
    """The AOF of one server."""

    def __init__(self, disk: Disk, folder: str, name: str, note: Note) -> None:
        self.disk, self.folder, self.name, self.note = disk, folder, name, note
        self.manifest = Manifest()
        self.sealer = Sealer()
        self.file: WriteFile | None = None
        self.fd = -1
        #: Bytes in the current increment, those known to be synced, and those that a mark reports.
        self.size = 0
        self.synced_size = 0
        self.marked_size = 0
        self.mark = b""
        self.offset = 0
        self.synced_offset = 0
        #: Bytes of all files except the current increment.
        self.other_size = 0
        self.base_size = 0
        self.is_pending = False
        self.has_rotated = False
        self.is_suspect = False
        self.is_file_suspect = False
        #: Increments before this one are removed when a new base is adopted.
        self.first_kept = 0
        self.ticket: SyncTicket | None = None
        self.retired: list[WriteFile] = []

    # The hot path

    def append(self, units: RespWriter, ends: array[int]) -> int:
        """Write all units; the number of bytes written.  DiskError: nothing has changed."""
        if len(ends) == 0:
            return 0
        n = self.sealer.seal(units, ends, self.mark, self.synced_size != self.marked_size)
        done = files.put(self.fd, self.sealer.p, 0, n) if self.fd >= 0 else 0
        if done != n:
            self.write_slowly(done)
        self.sealer.accept()
        self.size += n
        self.offset += n
        self.marked_size = self.synced_size
        return n

    def write_slowly(self, done: int) -> None:
        """A fault, a short write or a file without a descriptor: write the rest, or cut back."""
        file = self.current()
        file.size = self.size
        self.fd = -1
        with self.sealer.view() as view:
            if done > 0:
                file.go_on(view, done)
            else:
                file.write(view)
        self.fd = file.fileno()

    def current(self) -> WriteFile:
        """The current increment."""
        if self.file is None:
            raise DiskError(self.folder, "write the AOF in", "it is not open")
        return self.file

    # State

    @property
    def is_open(self) -> bool:
        """Whether there is an increment to write to."""
        return self.file is not None

    @property
    def path(self) -> str:
        """The size of the current increment."""
        return self.current().path

    @property
    def current_size(self) -> int:
        """Bytes of all files of the AOF."""
        return self.other_size + self.size

    @property
    def is_torn(self) -> bool:
        """Whether a failed write left bytes that could not be cut off yet."""
        return self.file is not None and self.file.is_torn

    # Open

    def resume(self, point: ResumePoint) -> None:
        """Continue after the loaded part."""
        self.manifest = point.manifest
        last = self.manifest.last()
        if last is not None:
            file = self.disk.open_append(self.path_of(last))
            if file.size != point.size:
                file.close()
                raise DiskError(file.path, "go on with", "its size has changed since it was read")
            self.vouch(file, point)
            self.use(file, point.crc, is_sealed=file.size > 0)
            self.set_synced(file.size)
        else:
            self.add_increment()
        self.measure()
        if self.manifest.history:
            self.drop_history()

    def vouch(self, file: WriteFile, point: ResumePoint) -> None:
        """Make the loaded part safe, and end it with a seal.

        Clients will see this data and may ask whether it is on disk, but the server before us
        may have been killed before it synced it.  And a power failure that destroys the next
        record must not make units without a seal suspect again.
        """
        if file.size == 0:
            return
        try:
            if not point.is_sealed:
                file.write(seal_line(point.crc))
            file.sync()
        except DiskError:
            file.close()
            raise

    def begin_empty(self) -> None:
        """The AOF of a server without data."""
        self.disk.make_folder(self.folder)
        if self.disk.exists(self.manifest_path()):
            raise DiskError(self.folder, "begin an AOF in", "there is one")
        self.manifest = Manifest()
        self.add_increment()

    def begin(self) -> None:
        """Start writing; ``adopt`` will add the data that is in memory now."""
        self.disk.make_folder(self.folder)
        if self.disk.exists(self.manifest_path()):
            path = self.manifest_path()
            self.manifest = parse_manifest(self.disk.read(path), path)
        self.is_pending = True
        self.rotate()

    def measure(self) -> None:
        """Read the sizes of all files."""
        sizes = [self.disk.size(self.path_of(entry)) for entry in self.manifest.loaded()]
        self.base_size = sizes[0] if self.manifest.base else 0
        self.other_size = sum(sizes) - self.size

    def close(self) -> None:
        """Stop writing.  Does not sync."""
        if self.file is not None:
            self.retire(self.file)
            self.file = None
            self.fd = -1

    # Syncing

    def sync(self) -> None:
        """Return when all appended bytes are safe."""
        ticket = SyncTicket(self.current(), self.offset, self.size)
        try:
            ticket.run()
        except DiskError:
            self.mark_suspect(ticket)
            raise
        self.mark_synced(ticket)

    def start_sync(self) -> SyncTicket | None:
        """A ticket for a thread; None if there is nothing to sync or a sync is running."""
        if self.ticket is None and self.file is not None and self.offset > self.synced_offset:
            self.ticket = SyncTicket(self.file, self.offset, self.size)
            return self.ticket
        return None

    def end_sync(self, ticket: SyncTicket, error: DiskError | None) -> None:
        """The thread has finished."""
        self.ticket = None
        if error is not None:
            self.mark_suspect(ticket)
        else:
            self.mark_synced(ticket)
        for file in self.retired:
            file.close()
        self.retired.clear()

    def mark_synced(self, ticket: SyncTicket) -> None:
        """A sync succeeded: the bytes it covers are safe, unless an earlier one failed."""
        if self.is_suspect or self.is_pending:
            return
        self.synced_offset = max(self.synced_offset, ticket.offset)
        if ticket.file is self.file:
            self.set_synced(max(self.synced_size, ticket.size))

    def set_synced(self, size: int) -> None:
        """This much of the current increment is safe."""
        self.synced_size = size
        self.mark = mark_line(size)

    def mark_suspect(self, ticket: SyncTicket) -> None:
        """A sync failed: the bytes it covers may be lost."""
        self.is_suspect = True
        if ticket.file is self.file:
            self.is_file_suspect = True

    # Rewriting

    def rotate(self) -> None:
        """Begin a new increment: the data in memory now will be the next base."""
        if self.is_pending:
            file = self.new_file(temp_path(self.disk, self.folder, "incr", "aof"))
            if self.file is not None:
                self.retire(self.file)
            self.use(file, 0, is_sealed=file.size > 0)
            self.has_rotated = True
            return
        self.mend()
        if not self.is_suspect:
            self.sync()
        self.add_increment()
        self.first_kept = len(self.manifest.increments) - 1
        self.has_rotated = True

    def mend(self) -> None:
        """Cut off the rest of a failed write, before another file follows this one."""
        file = self.current()
        if file.is_torn:
            file.truncate(self.size)

    def add_increment(self) -> None:
        """A new, empty increment, named by the manifest."""
        self.manifest.increment_seq += 1
        seq = self.manifest.increment_seq
        entry = Entry(increment_name(self.name, seq), seq, INCREMENT)
        file = self.new_file(self.path_of(entry))
        manifest = self.manifest.copy()
        manifest.increments.append(entry)
        try:
            # The manifest's name may reach the disk before the sync that follows its rename.
            self.disk.sync_folder(self.folder)
            self.write_manifest(manifest)
        except DiskError:
            self.discard_increment(file)
            raise
        self.other_size += self.size
        if self.file is not None:
            self.retire(self.file)
        self.use(file, 0, is_sealed=file.size > 0)

    def new_file(self, path: str) -> WriteFile:
        """An increment with only an empty seal, which says: everything before is safe.

        After a suspect file the new one stays completely empty, so that a start after a
        power failure treats the suspect file as the last one, whose end may be lost.
        """
        file = self.disk.create(path)
        if self.is_suspect:
            return file
        try:
            file.write(seal_line(0))
            if self.manifest.loaded():
                file.sync()
        except DiskError:
            file.close()
            raise
        return file

    def discard_increment(self, file: WriteFile) -> None:
        """Writing the manifest with the next increment failed; but it may be on disk.

        So the file must be empty; otherwise it would confirm the end of the increment
        that is still in use.
        """
        try:
            file.truncate(0)
            file.sync()
        except DiskError:
            self.is_suspect = True
        file.close()

    def adopt(self, temp: str, kind: str) -> None:
        """A child has written (and synced) the data as it was at ``rotate``: the new base."""
        if not self.has_rotated:
            raise ValueError("a base without a rotation before it")
        self.manifest.base_seq += 1
        seq = self.manifest.base_seq
        base = Entry(base_name(self.name, seq, kind), seq, "b")
        self.disk.rename(temp, self.path_of(base))
        if self.is_pending:
            self.adopt_pending(base)
        else:
            manifest = self.manifest.copy()
            increments, first = manifest.increments, self.first_kept
            self.replace_base(manifest, base, increments[:first], increments[first:])
        self.has_rotated = False
        self.is_suspect = self.is_file_suspect
        self.measure()
        self.base_size = self.current_size

    def adopt_pending(self, base: Entry) -> None:
        """The AOF of the data in memory replaces another one, or none."""
        file = self.current()
        file.sync()
        self.manifest.increment_seq += 1
        seq = self.manifest.increment_seq
        entry = Entry(increment_name(self.name, seq), seq, INCREMENT)
        self.disk.rename(file.path, self.path_of(entry))
        file.path = self.path_of(entry)
        manifest = self.manifest.copy()
        self.replace_base(manifest, base, manifest.increments, [entry])
        self.is_pending = False
        self.synced_offset = self.offset
        self.set_synced(self.size)

    def replace_base(
        self, manifest: Manifest, base: Entry, old: list[Entry], kept: list[Entry]
    ) -> None:
        """Write the manifest with a new base; the files it replaces become history."""
        manifest.retire(([manifest.base] if manifest.base else []) + old)
        manifest.base, manifest.increments = base, kept
        self.write_manifest(manifest)

    def abandon(self) -> None:
        """The new base failed: all increments stay."""
        self.has_rotated = False

    def history(self) -> list[str]:
        """Replaced files; a thread may remove them before drop_history."""
        return [self.path_of(entry) for entry in self.manifest.history]

    def drop_history(self) -> None:
        """Remove the replaced files, and their lines."""
        for path in self.history():
            self.disk.remove(path)
        manifest = self.manifest.copy()
        manifest.history = []
        self.write_manifest(manifest)

    # Files

    def path_of(self, entry: Entry) -> str:
        """Where a file of the AOF is."""
        return join(self.folder, entry.name)

    def manifest_path(self) -> str:
        """Where the manifest is."""
        return join(self.folder, manifest_name(self.name))

    def write_manifest(self, manifest: Manifest) -> None:
        """Replace the manifest durably; until then, the old one counts."""
        replace_file(self.disk, self.manifest_path(), format_manifest(manifest))
        self.manifest = manifest

    def use(self, file: WriteFile, crc: int, is_sealed: bool) -> None:
        """Append to this file from now on."""
        self.file = file
        self.fd = file.fileno()
        self.size = file.size
        self.set_synced(0)
        # The first write has a mark, even if it says nothing.
        self.marked_size = -1
        self.sealer = Sealer(crc, is_sealed)
        self.is_file_suspect = False

    def retire(self, file: WriteFile) -> None:
        """Close a file, or let the thread that syncs it do that afterwards."""
        if self.ticket is not None and self.ticket.file is file:
            self.retired.append(file)
        else:
            file.close()
