"""The forgetful disk forgets everything that a real disk may forget, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from forebay.errors import DiskError
from forebay.persistence.files import Disk, Lock, ReadFile, WriteFile, replace_file
from testkit.forgetful_disk import (
    PAGE,
    ForgetfulDisk,
    ForgetfulFile,
    ForgetfulRead,
    NoLock,
    Write,
)

ACCIDENTS = 400
Files = dict[str, bytes]


def accidents(disk: ForgetfulDisk, at: int | None = None) -> list[Files]:
    """The files that are left by many different power failures at one moment."""
    moment = len(disk.trace) if at is None else at
    return [disk.survivors(moment, Random(seed)) for seed in range(ACCIDENTS)]


def outcomes(disk: ForgetfulDisk, path: str) -> set[bytes | None]:
    return {files.get(path) for files in accidents(disk)}


def written(data: bytes, *, synced: bytes = b"") -> ForgetfulDisk:
    """A disk with a file that holds ``data`` of which only ``synced`` was synced."""
    disk = ForgetfulDisk({"/f": synced})
    disk.open_append("/f").write(data[len(synced) :])
    return disk


# -- it is a disk -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("twin", "real"),
    [
        (ForgetfulDisk, Disk),
        (ForgetfulFile, WriteFile),
        (ForgetfulRead, ReadFile),
        (NoLock, Lock),
    ],
)
def test_no_method_of_the_real_disk_is_left_to_touch_real_files(
    twin: type[object], real: type[object]
) -> None:
    # These call nothing but methods that are replaced.
    inherited = {"__enter__", "__exit__", "go_on", "try_truncate"}
    for name, method in vars(real).items():
        if inspect.isfunction(method) and name not in inherited:
            assert name in vars(twin), f"{real.__name__}.{name} has no twin"


def life(disk: Disk, root: str) -> list[object]:
    """All operations of a disk, and their visible results."""
    seen: list[object] = []
    disk.make_folder(f"{root}/a")
    file = disk.create(f"{root}/a/one")
    file.write(b"hello ")
    file.write(memoryview(b"world"))
    file.sync()
    seen += [file.size, disk.size(f"{root}/a/one"), disk.read(f"{root}/a/one")]
    file.truncate(5)
    file.write(b"!")
    file.close()
    seen += [disk.read(f"{root}/a/one"), disk.names(root), disk.names(f"{root}/a")]
    again = disk.open_append(f"{root}/a/one")
    again.write(b"?")
    again.close()
    replace_file(disk, f"{root}/a/two", b"second")
    disk.rename(f"{root}/a/one", f"{root}/three")
    disk.truncate(f"{root}/three", 3)
    with disk.open_read(f"{root}/three") as reader:
        reader.seek(1)
        seen += [reader.size, reader.read(1), reader.read(9), reader.read(9)]
    disk.remove(f"{root}/a/two")
    disk.remove(f"{root}/a/two")
    disk.create(f"{root}/a/two").close()
    seen += [disk.exists(f"{root}/a/two"), disk.size(f"{root}/a/two"), disk.is_folder(f"{root}/a")]
    seen += [disk.exists(f"{root}/nothing"), disk.is_folder(f"{root}/three"), disk.exists(root)]
    for missing in (disk.read, disk.size, disk.open_read):
        with pytest.raises(DiskError):
            missing(f"{root}/nothing")
    with pytest.raises(DiskError):
        disk.rename(f"{root}/nothing", f"{root}/other")
    disk.lock(root).release()
    return seen


def test_while_it_has_power_it_behaves_as_a_real_disk(tmp_path: Path) -> None:
    assert life(ForgetfulDisk(), "/root") == life(Disk(), str(tmp_path))


# -- surviving data -----------------------------------------------------------------


def test_what_was_synced_survives_every_accident() -> None:
    disk = ForgetfulDisk()
    file = disk.create("/d/f")
    file.write(b"x" * 10_000)
    file.sync()
    disk.sync_folder("/d")
    assert all(files == {"/d/f": b"x" * 10_000} for files in accidents(disk))


def test_synced_bytes_survive_whatever_is_written_behind_them() -> None:
    disk = written(b"a" * 5000 + b"b" * 20_000, synced=b"a" * 5000)
    for files in accidents(disk):
        assert files["/f"].startswith(b"a" * 5000)


def test_unsynced_bytes_may_all_be_gone_and_may_all_be_there() -> None:
    found = outcomes(written(b"old new", synced=b"old "), "/f")
    assert {b"old ", b"old new"} <= found


def test_a_file_may_have_its_new_size_and_zeros_instead_of_its_bytes() -> None:
    assert b"old \0\0\0" in outcomes(written(b"old new", synced=b"old "), "/f")


def test_a_page_may_be_lost_between_pages_that_are_not() -> None:
    pages = [bytes([letter]) * PAGE for letter in b"abc"]
    assert pages[0] + bytes(PAGE) + pages[2] in outcomes(written(b"".join(pages)), "/f")


def test_the_last_write_may_be_cut_at_any_byte() -> None:
    disk = written(b"0123456789")
    assert {b"0123456789"[:n] for n in range(11)} <= outcomes(disk, "/f")


def test_a_write_that_others_followed_is_not_cut_in_its_middle() -> None:
    disk = written(b"0123456789")
    disk.open_append("/other").write(b"x")
    found = outcomes(disk, "/f")
    whole = [data for data in found if data is not None and data.strip(b"\0") == data]
    assert set(whole) <= {b"", b"0123456789"} | {b"0123456789"[:n] for n in range(10)}
    assert b"0123456789" in found


def test_nothing_comes_out_that_never_went_in() -> None:
    data = bytes(range(1, 256)) * 100
    for found in outcomes(written(data, synced=data[:6000]), "/f"):
        assert found is not None
        assert all(now in (0, then) for now, then in zip(found, data, strict=False))


# -- names --------------------------------------------------------------------------


def test_a_new_file_may_have_no_name_until_its_folder_is_synced() -> None:
    disk = ForgetfulDisk()
    file = disk.create("/d/f")
    file.write(b"data")
    file.sync()
    assert outcomes(disk, "/d/f") == {None, b"data"}
    disk.sync_folder("/d")
    assert outcomes(disk, "/d/f") == {b"data"}


def test_a_rename_is_not_for_good_before_its_folder_is_synced() -> None:
    disk = ForgetfulDisk({"/d/old": b"1", "/d/new": b"2"})
    disk.rename("/d/old", "/d/new")
    before_sync = accidents(disk, at=1)
    assert {"/d/old": b"1", "/d/new": b"2"} in before_sync
    assert {"/d/new": b"1"} in before_sync
    assert accidents(disk) == [{"/d/new": b"1"}] * ACCIDENTS


def test_a_file_renamed_before_it_is_synced_may_be_empty_under_its_new_name() -> None:
    disk = ForgetfulDisk({"/d/f": b"old"})
    disk.create("/d/temp").write(b"new")
    disk.rename("/d/temp", "/d/f")
    assert {b"", b"new"} <= outcomes(disk, "/d/f")


def test_a_removed_file_may_come_back() -> None:
    disk = ForgetfulDisk({"/d/f": b"1"})
    disk.remove("/d/f")
    assert outcomes(disk, "/d/f") == {None, b"1"}


def test_a_cut_is_not_for_good_before_the_file_is_synced() -> None:
    disk = ForgetfulDisk({"/d/f": b"123456"})
    disk.open_append("/d/f").truncate(2)
    assert {b"123456", b"12"} <= outcomes(disk, "/d/f")
    disk.truncate("/d/f", 2)
    assert outcomes(disk, "/d/f") == {b"12"}


def test_a_file_is_replaced_as_a_whole_or_not_at_all() -> None:
    disk = ForgetfulDisk({"/d/f": b"old" * 3000})
    replace_file(disk, "/d/f", b"new" * 5000)
    for at in range(len(disk.trace) + 1):
        for files in accidents(disk, at):
            assert files["/d/f"] in (b"old" * 3000, b"new" * 5000)


def test_the_same_seed_is_the_same_accident() -> None:
    disk = written(b"abc" * 9000)
    assert accidents(disk) == accidents(disk)


def test_a_disk_can_be_told_to_fail() -> None:
    disk = ForgetfulDisk()

    def full(operation: object) -> None:
        if isinstance(operation, Write):
            raise DiskError("/f", "write", "No space left on device")

    refuse: Callable[[object], None] = full
    disk.before = refuse
    with pytest.raises(DiskError, match="No space left"):
        disk.create("/f").write(b"x")
    assert disk.files() == {"/f": b""}
