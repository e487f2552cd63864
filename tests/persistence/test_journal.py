"""The live log: append, sync, rotate, adopt."""

from __future__ import annotations

import resource
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forebay.errors import DiskError
from forebay.persistence.files import Disk
from forebay.persistence.journal import Journal, ResumePoint
from forebay.persistence.manifest import parse_manifest
from tests.support.forgetful_disk import ForgetfulDisk, Operation, Sync, Write
from tests.support.log_files import FOLDER, NAME, Notes, command, load, new_journal, reopen, units

ONE = command("XADD", "s", "1-1", "f", "v")
TWO = command("XADD", "s", "2-1", "f", "w")
THREE = command("XADD", "s", "3-1", "f", "x")
IN_MEMORY = f"data/{FOLDER}"


@contextmanager
def full_at(size: int) -> Iterator[None]:
    """No file may grow beyond this size: the end of a disk, for this process alone."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def failing(kind: type[Operation]) -> object:
    """A disk whose operations of this kind fail."""

    def before(operation: Operation) -> None:
        if isinstance(operation, kind):
            raise DiskError("data", "do that on", "Input/output error")

    return before


def write_base(disk: ForgetfulDisk, content: bytes) -> str:
    """What a child has written."""
    path = f"{IN_MEMORY}/temp-rewrite-2.aof"
    file = disk.create(path)
    file.write(content)
    file.sync()
    return path


def names(disk: ForgetfulDisk) -> list[str]:
    return disk.names(IN_MEMORY)


# Appending


def test_each_unit_is_followed_by_its_checksum(tmp_path: Path) -> None:
    journal = new_journal(Disk(), str(tmp_path))
    journal.append(*units(ONE, TWO))
    first = zlib.crc32(ONE)
    both = zlib.crc32(TWO, first)
    expected = b"#CRC:00000000\r\n%b#CRC:%08x\r\n%b#CRC:%08x\r\n" % (ONE, first, TWO, both)
    assert Path(journal.path).read_bytes() == expected
    assert journal.offset == journal.current_size == len(expected)
    journal.close()


def test_nothing_to_append_writes_nothing(tmp_path: Path) -> None:
    journal = new_journal(Disk(), str(tmp_path))
    assert journal.append(*units()) == 0
    assert Path(journal.path).stat().st_size == 0
    journal.close()


def test_what_was_appended_is_loaded_and_the_log_goes_on(tmp_path: Path) -> None:
    disk = Disk()
    journal = new_journal(disk, str(tmp_path))
    journal.append(*units(ONE, TWO))
    journal.append(*units(ONE))
    journal.close()
    assert not journal.is_open
    content, journal = reopen(disk, str(tmp_path))
    assert content == ONE + TWO + ONE
    assert journal.offset == 0 and journal.current_size == Path(journal.path).stat().st_size
    journal.append(*units(THREE))
    journal.close()
    assert load(disk, str(tmp_path))[0] == ONE + TWO + ONE + THREE


def test_a_closed_journal_refuses_to_write(tmp_path: Path) -> None:
    journal = new_journal(Disk(), str(tmp_path))
    journal.close()
    journal.close()
    with pytest.raises(DiskError, match="it is not open"):
        journal.append(*units(ONE))


def test_a_log_is_not_begun_where_there_is_one(tmp_path: Path) -> None:
    new_journal(Disk(), str(tmp_path)).close()
    with pytest.raises(DiskError, match="there is one"):
        new_journal(Disk(), str(tmp_path))


def test_a_file_that_has_grown_since_it_was_read_is_not_gone_on_with(tmp_path: Path) -> None:
    disk = Disk()
    new_journal(disk, str(tmp_path)).close()
    _, loader = load(disk, str(tmp_path))
    (tmp_path / FOLDER / f"{NAME}.1.incr.aof").write_bytes(ONE)
    journal = Journal(disk, str(tmp_path / FOLDER), NAME, Notes())
    with pytest.raises(DiskError, match="its size has changed"):
        journal.resume(loader.resume())


# Faults while writing


def test_a_write_that_fails_changes_nothing_and_can_be_done_again(tmp_path: Path) -> None:
    disk = Disk()
    journal = new_journal(disk, str(tmp_path))
    journal.append(*units(ONE))
    before = (journal.offset, journal.current_size)
    large = command("SET", "k", b"x" * 9000)
    for _ in range(2):
        with full_at(4096), pytest.raises(DiskError, match="File too large"):
            journal.append(*units(TWO, large))
        assert (journal.offset, journal.current_size) == before
        assert Path(journal.path).stat().st_size == before[1]
        assert not journal.is_torn
    journal.append(*units(TWO, large))
    journal.append(*units(THREE))
    journal.close()
    assert load(disk, str(tmp_path))[0] == ONE + TWO + large + THREE


def test_a_write_that_fails_at_once_can_be_done_again() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    disk.before = failing(Write)  # type: ignore[assignment]
    with pytest.raises(DiskError):
        journal.append(*units(ONE))
    disk.before = lambda operation: None
    journal.append(*units(ONE))
    journal.append(*units(TWO))
    assert load(disk, "data")[0] == ONE + TWO


# Syncing


def test_a_sync_moves_the_mark_and_the_next_append_says_so() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.append(*units(ONE))
    assert (journal.offset > 0, journal.synced_offset) == (True, 0)
    first = journal.offset
    journal.sync()
    assert journal.synced_offset == first
    journal.append(*units(TWO))
    journal.append(*units(THREE))
    text = disk.read(journal.path)
    assert text.count(b"#SYNC:") == 1
    assert text.index(b"#SYNC:%d\r\n" % first) == first
    assert load(disk, "data")[0] == ONE + TWO + THREE


def test_a_ticket_covers_what_was_there_when_it_was_taken() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    assert journal.start_sync() is None
    journal.append(*units(ONE))
    ticket = journal.start_sync()
    assert ticket is not None
    covered = journal.offset
    assert journal.start_sync() is None
    journal.append(*units(TWO))
    ticket.run()
    journal.end_sync(ticket, None)
    assert journal.synced_offset == covered < journal.offset
    again = journal.start_sync()
    assert again is not None
    journal.end_sync(again, None)
    assert journal.synced_offset == journal.offset
    assert journal.start_sync() is None


@pytest.mark.parametrize("in_thread", [True, False])
def test_after_a_failed_sync_no_later_one_is_believed(in_thread: bool) -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.append(*units(ONE))
    disk.before = failing(Sync)  # type: ignore[assignment]
    if in_thread:
        ticket = journal.start_sync()
        assert ticket is not None
        with pytest.raises(DiskError) as caught:
            ticket.run()
        journal.end_sync(ticket, caught.value)
    else:
        with pytest.raises(DiskError):
            journal.sync()
    assert journal.is_doubtful
    disk.before = lambda operation: None
    journal.sync()
    assert journal.is_doubtful and journal.synced_offset == 0
    journal.append(*units(TWO))
    assert b"#SYNC" not in disk.read(journal.path)
    # Only what comes from memory ends the doubt.
    journal.rotate()
    journal.adopt(write_base(disk, ONE + TWO), "aof")
    assert not journal.is_doubtful
    journal.sync()
    assert journal.synced_offset == journal.offset


def test_a_sync_that_fails_after_the_rotation_is_not_healed_by_that_rewrite() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.rotate()
    journal.append(*units(ONE))
    disk.before = failing(Sync)  # type: ignore[assignment]
    with pytest.raises(DiskError):
        journal.sync()
    disk.before = lambda operation: None
    journal.adopt(write_base(disk, b""), "aof")
    assert journal.is_doubtful
    journal.rotate()
    journal.adopt(write_base(disk, ONE), "aof")
    assert not journal.is_doubtful


def test_a_ticket_for_a_file_that_was_rotated_away_keeps_it_open(tmp_path: Path) -> None:
    journal = new_journal(Disk(), str(tmp_path))
    journal.append(*units(ONE))
    ticket = journal.start_sync()
    assert ticket is not None
    journal.rotate()
    journal.close()
    ticket.run()
    journal.end_sync(ticket, None)
    with pytest.raises(DiskError, match="it is closed"):
        ticket.run()


def test_a_ticket_that_fails_after_the_rotation_makes_the_log_doubtful() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.append(*units(ONE))
    ticket = journal.start_sync()
    assert ticket is not None
    journal.rotate()
    journal.end_sync(ticket, DiskError("x", "sync", "Input/output error"))
    assert journal.is_doubtful
    journal.adopt(write_base(disk, ONE), "aof")
    assert not journal.is_doubtful


# Rewriting


def test_a_rewrite_leaves_the_new_base_and_what_came_since() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.append(*units(ONE))
    journal.rotate()
    assert journal.has_rotated
    journal.append(*units(TWO))
    journal.adopt(write_base(disk, ONE), "aof")
    assert not journal.has_rotated
    assert journal.history() == [f"{IN_MEMORY}/{NAME}.1.incr.aof"]
    assert load(disk, "data")[0] == ONE + TWO
    assert journal.base_size == journal.current_size
    journal.drop_history()
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.2.incr.aof", f"{NAME}.manifest"]
    journal.append(*units(THREE))
    assert load(disk, "data")[0] == ONE + TWO + THREE


def test_a_rewrite_that_failed_loses_nothing_and_the_next_one_takes_all() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.append(*units(ONE))
    journal.rotate()
    journal.append(*units(TWO))
    journal.abandon()
    assert not journal.has_rotated
    assert load(disk, "data")[0] == ONE + TWO
    journal.rotate()
    journal.append(*units(THREE))
    assert load(disk, "data")[0] == ONE + TWO + THREE
    journal.adopt(write_base(disk, ONE + TWO), "aof")
    journal.drop_history()
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.3.incr.aof", f"{NAME}.manifest"]
    assert load(disk, "data")[0] == ONE + TWO + THREE


def test_a_base_needs_a_rotation_before_it() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    with pytest.raises(ValueError, match="without a rotation"):
        journal.adopt(write_base(disk, ONE), "aof")


def test_history_that_a_crash_left_is_removed_at_the_next_start() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.append(*units(ONE))
    journal.rotate()
    journal.adopt(write_base(disk, ONE), "aof")
    assert len(journal.history()) == 1
    # A thread was quicker with one of them.
    disk.remove(journal.history()[0])
    content, journal = reopen(disk, "data")
    assert content == ONE
    assert journal.history() == []
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.2.incr.aof", f"{NAME}.manifest"]


def test_sizes_count_all_files_of_the_log() -> None:
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")

    def on_disk() -> int:
        entries = journal.manifest.loaded()
        return sum(disk.size(f"{IN_MEMORY}/{entry.name}") for entry in entries)

    journal.append(*units(ONE))
    assert (journal.base_size, journal.current_size) == (0, on_disk())
    journal.rotate()
    journal.append(*units(TWO))
    assert (journal.base_size, journal.current_size) == (0, on_disk())
    journal.adopt(write_base(disk, ONE), "aof")
    assert journal.base_size == journal.current_size == on_disk()
    journal.append(*units(THREE))
    assert journal.current_size == on_disk() > journal.base_size
    _, again = reopen(disk, "data")
    assert (again.base_size, again.current_size) == (len(ONE), on_disk())


# A log that begins later than its data


def test_a_pending_log_does_not_touch_the_old_one_before_it_is_adopted() -> None:
    disk = ForgetfulDisk()
    old = new_journal(disk, "data")
    old.append(*units(ONE))
    old.close()
    journal = Journal(disk, IN_MEMORY, NAME, Notes())
    journal.begin()
    assert journal.is_pending and journal.has_rotated
    journal.append(*units(TWO))
    journal.sync()
    assert journal.synced_offset == 0
    assert load(disk, "data")[0] == ONE
    # The first child failed, so the second one starts with an empty increment.
    journal.abandon()
    journal.rotate()
    journal.append(*units(THREE))
    journal.adopt(write_base(disk, TWO), "aof")
    assert not journal.is_pending
    assert journal.synced_offset == journal.offset
    journal.drop_history()
    assert load(disk, "data")[0] == TWO + THREE
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.2.incr.aof", f"{NAME}.manifest"]
    journal.append(*units(ONE))
    assert load(disk, "data")[0] == TWO + THREE + ONE


def test_a_pending_log_may_be_the_first() -> None:
    disk = ForgetfulDisk()
    journal = Journal(disk, IN_MEMORY, NAME, Notes())
    journal.begin()
    journal.append(*units(TWO))
    journal.adopt(write_base(disk, ONE), "aof")
    assert load(disk, "data")[0] == ONE + TWO


# Any operation may fail


def live(journal: Journal, disk: ForgetfulDisk, written: list[bytes]) -> None:
    """Some life of a log; a step that fails is done again, as a server would."""

    def again(step: object, *args: object) -> None:
        for _ in range(2):
            try:
                step(*args)  # type: ignore[operator]
            except DiskError:
                continue
            return
        raise AssertionError("failed twice")

    for number in range(3):
        for at in range(2):
            unit = command("XADD", "s", f"{number}-{at + 1}", "f", "v")
            again(journal.append, *units(unit))
            written.append(unit)
            again(journal.sync)
        again(journal.rotate)
        base = b"".join(written)
        unit = command("SET", "number", number)
        again(journal.append, *units(unit))
        written.append(unit)
        for _ in range(2):
            try:
                journal.adopt(write_base(disk, base), "aof")
            except DiskError:
                continue
            break
        again(journal.drop_history)


def test_whichever_operation_fails_once_nothing_is_lost() -> None:
    disk = ForgetfulDisk()
    live(new_journal(disk, "data"), disk, [])
    total = len(disk.trace)
    for at in range(4, total):
        disk = ForgetfulDisk()
        journal = new_journal(disk, "data")
        left = at

        def before(operation: Operation) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise DiskError("data", "do that on", f"failure {at}")  # noqa: B023

        disk.before = before
        written: list[bytes] = []
        live(journal, disk, written)
        # A base in the log holds all that came before it.
        assert load(disk, "data")[0] == b"".join(written), at


def test_a_manifest_of_a_newer_number_is_never_overwritten_with_another_meaning() -> None:
    """The folder cannot be synced: nobody knows which manifest is there, so both must be true."""
    disk = ForgetfulDisk()
    journal = new_journal(disk, "data")
    journal.append(*units(ONE))
    journal.rotate()
    path = f"{IN_MEMORY}/{NAME}.manifest"
    temp = write_base(disk, ONE)
    seen = 0

    def before(operation: Operation) -> None:
        nonlocal seen
        if type(operation).__name__ == "SyncFolder":
            seen += 1
            if seen == 2:
                raise DiskError("data", "sync", "Input/output error")

    disk.before = before
    with pytest.raises(DiskError):
        journal.adopt(temp, "aof")
    disk.before = lambda operation: None
    # The new manifest is there; the journal still believes in the old one.
    assert parse_manifest(disk.read(path), path).base_seq == 1
    assert journal.manifest.base is None
    journal.append(*units(TWO))
    assert load(disk, "data")[0] == ONE + TWO
    journal.adopt(write_base(disk, ONE), "aof")
    assert f"{NAME}.2.base.aof" in names(disk)
    assert load(disk, "data")[0] == ONE + TWO


def test_a_resume_point_without_increments_makes_the_first() -> None:
    disk = ForgetfulDisk({f"{IN_MEMORY}/{NAME}.4.base.aof": ONE})
    text = f"file {NAME}.4.base.aof seq 4 type b\n".encode()
    journal = Journal(disk, IN_MEMORY, NAME, Notes())
    journal.resume(ResumePoint(parse_manifest(text, "m"), 0, 0, is_sealed=False))
    journal.append(*units(TWO))
    assert load(disk, "data")[0] == ONE + TWO
