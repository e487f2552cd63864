"""The live AOF on a failing disk: nothing is lost, and only data on disk counts as safe."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forebay.errors import DiskError
from forebay.persistence.aof.manifest import parse_manifest
from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.files import Disk
from server.tests.support.aof_files import FOLDER, NAME, command, load, new_aof, units, write_base
from server.tests.support.full_disk import full_at
from testkit.forgetful_disk import ForgetfulDisk, Operation, Sync, Write

ONE = command("XADD", "s", "1-1", "f", "v")
TWO = command("XADD", "s", "2-1", "f", "w")
THREE = command("XADD", "s", "3-1", "f", "x")
IN_MEMORY = f"data/{FOLDER}"


def failing(kind: type[Operation]) -> object:
    """A disk whose operations of this kind fail."""

    def before(operation: Operation) -> None:
        if isinstance(operation, kind):
            raise DiskError("data", "do that on", "Input/output error")

    return before


# Writing


def test_a_write_that_fails_changes_nothing_and_can_be_done_again(tmp_path: Path) -> None:
    disk = Disk()
    aof = new_aof(disk, str(tmp_path))
    aof.append(*units(ONE))
    before = (aof.offset, aof.current_size)
    large = command("SET", "k", b"x" * 9000)
    for _ in range(2):
        with full_at(4096), pytest.raises(DiskError, match="File too large"):
            aof.append(*units(TWO, large))
        assert (aof.offset, aof.current_size) == before
        assert Path(aof.path).stat().st_size == before[1]
        assert not aof.is_torn
    aof.append(*units(TWO, large))
    aof.append(*units(THREE))
    aof.close()
    assert load(disk, str(tmp_path))[0] == ONE + TWO + large + THREE


def test_what_a_failed_write_left_is_cut_off_before_the_next_file_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk()
    aof = new_aof(disk, str(tmp_path))
    aof.append(*units(ONE))
    old, size = Path(aof.path), aof.current_size

    def refuse(fd: int, size: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch, full_at(4096):
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(DiskError, match="File too large"):
            aof.append(*units(command("SET", "k", b"x" * 9000)))
        assert aof.is_torn and old.stat().st_size == 4096
        with pytest.raises(DiskError, match="cannot truncate"):
            aof.rotate()
    aof.rotate()
    assert old.stat().st_size == size
    aof.append(*units(TWO))
    aof.close()
    assert load(disk, str(tmp_path))[0] == ONE + TWO


def test_a_write_that_fails_at_once_can_be_done_again() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    disk.before = failing(Write)  # type: ignore[assignment]
    with pytest.raises(DiskError):
        aof.append(*units(ONE))
    disk.before = lambda operation: None
    aof.append(*units(ONE))
    aof.append(*units(TWO))
    assert load(disk, "data")[0] == ONE + TWO


# Syncing


def test_a_sync_moves_the_mark_and_the_next_append_says_so() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE))
    assert (aof.offset > 0, aof.synced_offset) == (True, 0)
    first = aof.current_size
    aof.sync()
    assert aof.synced_offset == aof.offset
    aof.append(*units(TWO))
    aof.append(*units(THREE))
    text = disk.read(aof.path)
    assert text.count(b"#SYNC:") == 2
    assert text.index(b"#SYNC:%d\r\n" % first) == first
    assert load(disk, "data")[0] == ONE + TWO + THREE


def test_a_ticket_covers_what_was_there_when_it_was_taken() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    assert aof.start_sync() is None
    aof.append(*units(ONE))
    ticket = aof.start_sync()
    assert ticket is not None
    covered = aof.offset
    assert aof.start_sync() is None
    aof.append(*units(TWO))
    ticket.run()
    aof.end_sync(ticket, None)
    assert aof.synced_offset == covered < aof.offset
    again = aof.start_sync()
    assert again is not None
    aof.end_sync(again, None)
    assert aof.synced_offset == aof.offset
    assert aof.start_sync() is None


@pytest.mark.parametrize("in_thread", [True, False])
def test_after_a_failed_sync_no_later_one_is_believed(in_thread: bool) -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE))
    disk.before = failing(Sync)  # type: ignore[assignment]
    if in_thread:
        ticket = aof.start_sync()
        assert ticket is not None
        with pytest.raises(DiskError) as caught:
            ticket.run()
        aof.end_sync(ticket, caught.value)
    else:
        with pytest.raises(DiskError):
            aof.sync()
    assert aof.is_suspect
    disk.before = lambda operation: None
    aof.sync()
    assert aof.is_suspect and aof.synced_offset == 0
    aof.append(*units(TWO))
    assert disk.read(aof.path).count(b"#SYNC:") == disk.read(aof.path).count(b"#SYNC:0")
    # Only a new base from memory ends that.
    aof.rotate()
    aof.adopt(write_base(disk, ONE + TWO), "aof")
    assert not aof.is_suspect
    aof.sync()
    assert aof.synced_offset == aof.offset


def test_a_sync_that_fails_after_the_rotation_is_not_healed_by_that_rewrite() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.rotate()
    aof.append(*units(ONE))
    disk.before = failing(Sync)  # type: ignore[assignment]
    with pytest.raises(DiskError):
        aof.sync()
    disk.before = lambda operation: None
    aof.adopt(write_base(disk, b""), "aof")
    assert aof.is_suspect
    aof.rotate()
    aof.adopt(write_base(disk, ONE), "aof")
    assert not aof.is_suspect


def test_a_ticket_for_a_file_that_was_rotated_away_keeps_it_open(tmp_path: Path) -> None:
    aof = new_aof(Disk(), str(tmp_path))
    aof.append(*units(ONE))
    ticket = aof.start_sync()
    assert ticket is not None
    aof.rotate()
    aof.close()
    ticket.run()
    aof.end_sync(ticket, None)
    with pytest.raises(DiskError, match="it is closed"):
        ticket.run()


def test_a_ticket_that_fails_after_the_rotation_makes_the_aof_suspect() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE))
    ticket = aof.start_sync()
    assert ticket is not None
    aof.rotate()
    aof.end_sync(ticket, DiskError("x", "sync", "Input/output error"))
    assert aof.is_suspect
    aof.adopt(write_base(disk, ONE), "aof")
    assert not aof.is_suspect


def test_after_a_suspect_file_the_next_one_is_empty_so_that_a_lost_end_can_be_cut() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE, TWO))
    torn, whole = aof.path, disk.read(aof.path)
    disk.before = failing(Sync)  # type: ignore[assignment]
    with pytest.raises(DiskError):
        aof.sync()
    disk.before = lambda operation: None
    aof.rotate()
    assert disk.read(aof.path) == b""
    # Power fails, and the data of the failed sync is lost.
    files = {**disk.files(), torn: whole[:-30]}
    assert load(ForgetfulDisk(files), "data")[0] == ONE
    aof.append(*units(THREE))
    assert load(disk, "data")[0] == ONE + TWO + THREE


# Any operation may fail


def live(aof: AofWriter, disk: ForgetfulDisk, written: list[bytes]) -> None:
    """A life of an AOF; a failed step is repeated, as a server does."""

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
            again(aof.append, *units(unit))
            written.append(unit)
            again(aof.sync)
        again(aof.rotate)
        base = b"".join(written)
        unit = command("SET", "number", number)
        again(aof.append, *units(unit))
        written.append(unit)
        for _ in range(2):
            try:
                aof.adopt(write_base(disk, base), "aof")
            except DiskError:
                continue
            break
        again(aof.drop_history)


def test_whichever_operation_fails_once_nothing_is_lost() -> None:
    disk = ForgetfulDisk()
    live(new_aof(disk, "data"), disk, [])
    total = len(disk.trace)
    for at in range(4, total):
        disk = ForgetfulDisk()
        aof = new_aof(disk, "data")
        left = at

        def before(operation: Operation) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise DiskError("data", "do that on", f"failure {at}")  # noqa: B023

        disk.before = before
        written: list[bytes] = []
        live(aof, disk, written)
        # A base in the AOF holds all data from before it.
        assert load(disk, "data")[0] == b"".join(written), at


def test_a_manifest_of_a_newer_number_is_never_overwritten_with_another_meaning() -> None:
    """The folder cannot be synced: either manifest may be on disk, so both must be true."""
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE))
    aof.rotate()
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
        aof.adopt(temp, "aof")
    disk.before = lambda operation: None
    # The new manifest is there; the AOF still believes in the old one.
    assert parse_manifest(disk.read(path), path).base_seq == 1
    assert aof.manifest.base is None
    aof.append(*units(TWO))
    assert load(disk, "data")[0] == ONE + TWO
    aof.adopt(write_base(disk, ONE), "aof")
    assert f"{NAME}.2.base.aof" in disk.names(IN_MEMORY)
    assert load(disk, "data")[0] == ONE + TWO
