"""The live log: append, sync, rotate, adopt."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from forebay.errors import DiskError
from forebay.persistence.aof.manifest import parse_manifest
from forebay.persistence.aof.writer import Journal, ResumePoint
from forebay.persistence.files import Disk
from testkit.forgetful_disk import ForgetfulDisk
from tests.support.log_files import (
    FOLDER,
    NAME,
    Notes,
    command,
    load,
    new_journal,
    reopen,
    seal_all,
    units,
    write_base,
)

ONE = command("XADD", "s", "1-1", "f", "v")
TWO = command("XADD", "s", "2-1", "f", "w")
THREE = command("XADD", "s", "3-1", "f", "x")
IN_MEMORY = f"data/{FOLDER}"


def names(disk: ForgetfulDisk) -> list[str]:
    return disk.names(IN_MEMORY)


# Appending


def test_each_unit_is_followed_by_its_checksum(tmp_path: Path) -> None:
    journal = new_journal(Disk(), str(tmp_path))
    journal.append(*units(ONE, TWO))
    mark = b"#SYNC:0\r\n"
    first = zlib.crc32(mark + ONE)
    both = zlib.crc32(TWO, first)
    expected = b"#CRC:00000000\r\n%b%b#CRC:%08x\r\n%b#CRC:%08x\r\n" % (
        mark,
        ONE,
        first,
        TWO,
        both,
    )
    assert Path(journal.path).read_bytes() == expected
    assert journal.current_size == len(expected)
    assert journal.offset == len(expected) - len(seal_all())
    journal.close()


def test_nothing_to_append_writes_nothing(tmp_path: Path) -> None:
    journal = new_journal(Disk(), str(tmp_path))
    assert journal.append(*units()) == 0
    assert Path(journal.path).read_bytes() == seal_all()
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


def test_a_resume_point_without_increments_makes_the_first() -> None:
    disk = ForgetfulDisk({f"{IN_MEMORY}/{NAME}.4.base.aof": ONE})
    text = f"file {NAME}.4.base.aof seq 4 type b\n".encode()
    journal = Journal(disk, IN_MEMORY, NAME, Notes())
    journal.resume(ResumePoint(parse_manifest(text, "m"), 0, 0, is_sealed=False))
    journal.append(*units(TWO))
    assert load(disk, "data")[0] == ONE + TWO
