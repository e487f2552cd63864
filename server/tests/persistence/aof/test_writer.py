"""The live AOF: append, sync, rotate, adopt."""

from __future__ import annotations

import zlib
from pathlib import Path
from random import Random

import pytest

from forebay.errors import DiskError
from forebay.persistence.aof.manifest import parse_manifest
from forebay.persistence.aof.writer import AofWriter, ResumePoint
from forebay.persistence.files import Disk
from server.tests.support.aof_files import (
    FOLDER,
    NAME,
    Notes,
    command,
    load,
    new_aof,
    reopen,
    seal_all,
    units,
    write_base,
)
from testkit.forgetful_disk import ForgetfulDisk

ONE = command("XADD", "s", "1-1", "f", "v")
TWO = command("XADD", "s", "2-1", "f", "w")
THREE = command("XADD", "s", "3-1", "f", "x")
IN_MEMORY = f"data/{FOLDER}"


def names(disk: ForgetfulDisk) -> list[str]:
    return disk.names(IN_MEMORY)


# Appending


def test_each_unit_is_followed_by_its_checksum(tmp_path: Path) -> None:
    aof = new_aof(Disk(), str(tmp_path))
    aof.append(*units(ONE, TWO))
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
    assert Path(aof.path).read_bytes() == expected
    assert aof.current_size == len(expected)
    assert aof.offset == len(expected) - len(seal_all())
    aof.close()


def test_nothing_to_append_writes_nothing(tmp_path: Path) -> None:
    aof = new_aof(Disk(), str(tmp_path))
    assert aof.append(*units()) == 0
    assert Path(aof.path).read_bytes() == seal_all()
    aof.close()


def test_what_was_appended_is_loaded_and_the_aof_goes_on(tmp_path: Path) -> None:
    disk = Disk()
    aof = new_aof(disk, str(tmp_path))
    aof.append(*units(ONE, TWO))
    aof.append(*units(ONE))
    aof.close()
    assert not aof.is_open
    content, aof = reopen(disk, str(tmp_path))
    assert content == ONE + TWO + ONE
    assert aof.offset == 0 and aof.current_size == Path(aof.path).stat().st_size
    aof.append(*units(THREE))
    aof.close()
    assert load(disk, str(tmp_path))[0] == ONE + TWO + ONE + THREE


def test_what_a_killed_server_had_not_synced_is_safe_when_it_is_loaded() -> None:
    disk = ForgetfulDisk()
    new_aof(disk, "data").append(*units(ONE, TWO))
    content, aof = reopen(disk, "data")
    assert content == ONE + TWO
    for seed in range(20):
        left = disk.survivors(len(disk.trace), Random(seed))
        assert load(ForgetfulDisk(left), "data")[0] == ONE + TWO
    aof.append(*units(THREE))
    assert b"#SYNC:%d\r\n" % aof.synced_size in disk.read(aof.path)


def test_a_closed_journal_refuses_to_write(tmp_path: Path) -> None:
    aof = new_aof(Disk(), str(tmp_path))
    aof.close()
    aof.close()
    with pytest.raises(DiskError, match="it is not open"):
        aof.append(*units(ONE))


def test_an_aof_is_not_begun_where_there_is_one(tmp_path: Path) -> None:
    new_aof(Disk(), str(tmp_path)).close()
    with pytest.raises(DiskError, match="there is one"):
        new_aof(Disk(), str(tmp_path))


def test_a_file_that_has_grown_since_it_was_read_is_not_gone_on_with(tmp_path: Path) -> None:
    disk = Disk()
    new_aof(disk, str(tmp_path)).close()
    _, loader = load(disk, str(tmp_path))
    (tmp_path / FOLDER / f"{NAME}.1.incr.aof").write_bytes(ONE)
    aof = AofWriter(disk, str(tmp_path / FOLDER), NAME, Notes())
    with pytest.raises(DiskError, match="its size has changed"):
        aof.resume(loader.resume())


# Rewriting


def test_a_rewrite_leaves_the_new_base_and_what_came_since() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE))
    aof.rotate()
    assert aof.has_rotated
    aof.append(*units(TWO))
    aof.adopt(write_base(disk, ONE), "aof")
    assert not aof.has_rotated
    assert aof.history() == [f"{IN_MEMORY}/{NAME}.1.incr.aof"]
    assert load(disk, "data")[0] == ONE + TWO
    assert aof.base_size == aof.current_size
    aof.drop_history()
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.2.incr.aof", f"{NAME}.manifest"]
    aof.append(*units(THREE))
    assert load(disk, "data")[0] == ONE + TWO + THREE


def test_a_rewrite_that_failed_loses_nothing_and_the_next_one_takes_all() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE))
    aof.rotate()
    aof.append(*units(TWO))
    aof.abandon()
    assert not aof.has_rotated
    assert load(disk, "data")[0] == ONE + TWO
    aof.rotate()
    aof.append(*units(THREE))
    assert load(disk, "data")[0] == ONE + TWO + THREE
    aof.adopt(write_base(disk, ONE + TWO), "aof")
    aof.drop_history()
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.3.incr.aof", f"{NAME}.manifest"]
    assert load(disk, "data")[0] == ONE + TWO + THREE


def test_a_base_needs_a_rotation_before_it() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    with pytest.raises(ValueError, match="without a rotation"):
        aof.adopt(write_base(disk, ONE), "aof")


def test_history_that_a_crash_left_is_removed_at_the_next_start() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")
    aof.append(*units(ONE))
    aof.rotate()
    aof.adopt(write_base(disk, ONE), "aof")
    assert len(aof.history()) == 1
    # A thread was quicker with one of them.
    disk.remove(aof.history()[0])
    content, aof = reopen(disk, "data")
    assert content == ONE
    assert aof.history() == []
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.2.incr.aof", f"{NAME}.manifest"]


def test_sizes_count_all_files_of_the_aof() -> None:
    disk = ForgetfulDisk()
    aof = new_aof(disk, "data")

    def on_disk() -> int:
        entries = aof.manifest.loaded()
        return sum(disk.size(f"{IN_MEMORY}/{entry.name}") for entry in entries)

    aof.append(*units(ONE))
    assert (aof.base_size, aof.current_size) == (0, on_disk())
    aof.rotate()
    aof.append(*units(TWO))
    assert (aof.base_size, aof.current_size) == (0, on_disk())
    aof.adopt(write_base(disk, ONE), "aof")
    assert aof.base_size == aof.current_size == on_disk()
    aof.append(*units(THREE))
    assert aof.current_size == on_disk() > aof.base_size
    _, again = reopen(disk, "data")
    assert (again.base_size, again.current_size) == (len(ONE), on_disk())


# An AOF that begins later than its data


def test_a_pending_aof_does_not_touch_the_old_one_before_it_is_adopted() -> None:
    disk = ForgetfulDisk()
    old = new_aof(disk, "data")
    old.append(*units(ONE))
    old.close()
    aof = AofWriter(disk, IN_MEMORY, NAME, Notes())
    aof.begin()
    assert aof.is_pending and aof.has_rotated
    aof.append(*units(TWO))
    aof.sync()
    assert aof.synced_offset == 0
    assert load(disk, "data")[0] == ONE
    # The first child failed, so the second one starts with an empty increment.
    aof.abandon()
    aof.rotate()
    aof.append(*units(THREE))
    aof.adopt(write_base(disk, TWO), "aof")
    assert not aof.is_pending
    assert aof.synced_offset == aof.offset
    aof.drop_history()
    assert load(disk, "data")[0] == TWO + THREE
    assert names(disk) == [f"{NAME}.1.base.aof", f"{NAME}.2.incr.aof", f"{NAME}.manifest"]
    aof.append(*units(ONE))
    assert load(disk, "data")[0] == TWO + THREE + ONE


def test_a_pending_aof_may_be_the_first() -> None:
    disk = ForgetfulDisk()
    aof = AofWriter(disk, IN_MEMORY, NAME, Notes())
    aof.begin()
    aof.append(*units(TWO))
    aof.adopt(write_base(disk, ONE), "aof")
    assert load(disk, "data")[0] == ONE + TWO


def test_a_resume_point_without_increments_makes_the_first() -> None:
    disk = ForgetfulDisk({f"{IN_MEMORY}/{NAME}.4.base.aof": ONE})
    text = f"file {NAME}.4.base.aof seq 4 type b\n".encode()
    aof = AofWriter(disk, IN_MEMORY, NAME, Notes())
    aof.resume(ResumePoint(parse_manifest(text, "m"), 0, 0, is_sealed=False))
    aof.append(*units(TWO))
    assert load(disk, "data")[0] == ONE + TWO
