"""Access to the disk: whole writes or none, lasting names, locked folders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.errors import ConfigError, DiskError
from forebay.persistence import files
from forebay.persistence.files import (
    Disk,
    clean_temps,
    keep_copy,
    last_name,
    parent,
    replace_file,
    temp_path,
)
from server.tests.support.full_disk import full_at


def test_what_was_written_is_read(tmp_path: Path) -> None:
    disk, path = Disk(), str(tmp_path / "a")
    file = disk.create(path)
    file.write(b"one ")
    file.write(bytearray(b"two "))
    file.write(memoryview(b"three"))
    file.sync()
    assert file.size == 13
    file.close()
    file.close()
    assert disk.read(path) == b"one two three"
    assert disk.size(path) == 13
    again = disk.open_append(path)
    again.write(b"!")
    again.close()
    with disk.open_read(path) as reader:
        assert reader.size == 14
        reader.seek(8)
        assert reader.read(3) == b"thr"
        assert reader.read(100) == b"ee!"
        assert reader.read(100) == b""
    assert disk.create(path).size == 0


def test_a_write_that_does_not_fit_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    disk, path = Disk(), tmp_path / "a"
    file = disk.create(str(path))
    file.write(b"x" * 6000)
    with full_at(8192), pytest.raises(DiskError, match=r"cannot write .*/a: File too large"):
        file.write(b"y" * 6000)
    assert (file.size, file.is_torn) == (6000, False)
    assert path.stat().st_size == 6000
    file.write(b"z")
    file.close()
    assert path.read_bytes() == b"x" * 6000 + b"z"


def test_a_torn_file_is_mended_before_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, path = Disk(), tmp_path / "a"
    file = disk.create(str(path))
    file.write(b"good")

    def refuse(fd: int, size: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch, full_at(8192):
        patch.setattr(os, "ftruncate", refuse)
        with pytest.raises(DiskError, match="File too large"):
            file.write(b"y" * 9000)
        assert file.is_torn and file.size == 4
        with pytest.raises(DiskError, match="cannot truncate"):
            file.write(b"more")
    assert path.stat().st_size == 8192
    file.write(b" and more")
    file.close()
    assert path.read_bytes() == b"good and more"


def test_put_answers_with_what_went_or_with_the_fault(tmp_path: Path) -> None:
    file = Disk().create(str(tmp_path / "a"))
    assert files.put(file.fileno(), b"abcdef", 2, 3) == 3
    with full_at(2):
        assert files.put(file.fileno(), b"abcdef", 0, 6) < 0
    file.close()
    assert (tmp_path / "a").read_bytes() == b"cde"


def test_every_fault_names_the_file_and_what_was_wanted(tmp_path: Path) -> None:
    disk, missing = Disk(), str(tmp_path / "no" / "file")
    (tmp_path / "file").touch()
    for call, words in [
        (lambda: disk.open_read(missing), "open"),
        (lambda: disk.read(missing), "open"),
        (lambda: disk.create(missing), "open"),
        (lambda: disk.size(missing), "look at"),
        (lambda: disk.names(missing), "list"),
        (lambda: disk.rename(missing, missing + "2"), "rename"),
        (lambda: disk.sync_folder(missing), "open"),
        (lambda: disk.make_folder(str(tmp_path / "file" / "folder")), "make the folder"),
        (lambda: disk.read(str(tmp_path)), "read"),
        (lambda: disk.remove(str(tmp_path)), "remove"),
        (lambda: disk.lock(missing), "open"),
    ]:
        with pytest.raises(DiskError) as caught:
            call()
        assert f"cannot {words}" in str(caught.value)
        assert str(tmp_path) in str(caught.value)
    disk.remove(missing)


def test_what_the_kernel_refuses_is_a_fault(tmp_path: Path) -> None:
    disk, path = Disk(), tmp_path / "file"
    path.touch()
    with disk.open_read(str(path)) as file, pytest.raises(DiskError, match="cannot seek in"):
        file.seek(-1)
    device = disk.open_append("/dev/null")
    with pytest.raises(DiskError, match="cannot sync /dev/null"):
        device.sync()
    device.close()
    with pytest.raises(DiskError, match="cannot sync /proc"):
        disk.sync_folder("/proc")
    with pytest.raises(DiskError, match="cannot make the folder /proc/forebay"):
        disk.make_folder("/proc/forebay")


def test_a_closed_file_is_a_fault_and_not_a_crash(tmp_path: Path) -> None:
    file = Disk().create(str(tmp_path / "a"))
    file.close()
    for call in (lambda: file.write(b"x"), file.sync, lambda: file.truncate(0)):
        with pytest.raises(DiskError, match=r"Bad file descriptor|it is closed"):
            call()


def test_folders_are_made_with_those_above_them(tmp_path: Path) -> None:
    disk, path = Disk(), str(tmp_path / "a" / "b" / "c")
    disk.make_folder(path)
    disk.make_folder(path)
    assert disk.is_folder(path) and disk.exists(path)
    (tmp_path / "file").touch()
    with pytest.raises(DiskError, match="a file of that name is there"):
        disk.make_folder(str(tmp_path / "file"))


def test_paths_are_taken_apart_as_usual() -> None:
    assert (parent("a/b/c"), last_name("a/b/c")) == ("a/b", "c")
    assert (parent("c"), last_name("c")) == (".", "c")


def test_a_file_is_replaced_as_a_whole_and_leaves_no_temp(tmp_path: Path) -> None:
    disk, path = Disk(), tmp_path / "m"
    path.write_bytes(b"old")
    replace_file(disk, str(path), b"new and longer")
    assert path.read_bytes() == b"new and longer"
    with full_at(4), pytest.raises(DiskError):
        replace_file(disk, str(path), b"x" * 100)
    assert path.read_bytes() == b"new and longer"
    assert disk.names(str(tmp_path)) == ["m"]


def test_truncating_and_moving_between_folders(tmp_path: Path) -> None:
    disk, path = Disk(), tmp_path / "a"
    path.write_bytes(b"0123456789")
    disk.truncate(str(path), 4)
    assert path.read_bytes() == b"0123"
    disk.make_folder(str(tmp_path / "sub"))
    disk.rename(str(path), str(tmp_path / "sub" / "b"))
    assert disk.names(str(tmp_path / "sub")) == ["b"]
    assert not disk.exists(str(path))


def test_only_temp_files_are_cleaned(tmp_path: Path) -> None:
    disk = Disk()
    ours = last_name(temp_path(disk, str(tmp_path), "rewrite", "aof"))
    assert ours == f"temp-rewrite-{os.getpid()}.aof"
    stale = [ours, "temp-save-17.rdb"]
    others = ["appendonly.aof.1.incr.aof", "temp-me.txt", "temp-save-17.rdb.corrupt-0", "temp"]
    for name in (*stale, *others):
        (tmp_path / name).touch()
    assert clean_temps(disk, str(tmp_path)) == sorted(stale)
    assert disk.names(str(tmp_path)) == sorted(others)


def test_a_copy_is_kept_beside_the_file_and_never_overwritten(tmp_path: Path) -> None:
    disk, path = Disk(), tmp_path / "log"
    path.write_bytes(b"x" * 100 + b"first")
    assert keep_copy(disk, str(path), 100) == f"{path}.corrupt-100"
    path.write_bytes(b"x" * 100 + b"second")
    assert keep_copy(disk, str(path), 100) == f"{path}.corrupt-100.2"
    assert (tmp_path / "log.corrupt-100").read_bytes() == b"first"
    assert (tmp_path / "log.corrupt-100.2").read_bytes() == b"second"
    assert path.read_bytes() == b"x" * 100 + b"second"


def test_a_copy_that_does_not_fit_is_not_left_half(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 10_000)
    with full_at(4096), pytest.raises(DiskError, match=r"cannot write .*corrupt-100"):
        keep_copy(Disk(), str(path), 100)
    assert Disk().names(str(tmp_path)) == ["log"]
    assert path.stat().st_size == 10_000


def test_a_folder_on_a_full_disk_is_locked_by_an_unknown_server(tmp_path: Path) -> None:
    with full_at(0):
        lock = Disk().lock(str(tmp_path))
    with pytest.raises(ConfigError, match=r"used by another server \(pid unknown\)"):
        Disk().lock(str(tmp_path))
    lock.release()


def test_a_folder_is_locked_against_a_second_server(tmp_path: Path) -> None:
    disk = Disk()
    lock = disk.lock(str(tmp_path))
    with pytest.raises(ConfigError, match=rf"used by another server \(pid {os.getpid()}\)"):
        disk.lock(str(tmp_path))
    lock.release()
    lock.release()
    disk.lock(str(tmp_path)).release()


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom forebay.persistence.files import Disk\n"
        "lock = Disk().lock(sys.argv[1])\nprint(os.getpid(), flush=True)\nsys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    pid = child.stdout.readline().strip()
    with pytest.raises(ConfigError, match=rf"\(pid {pid}\)"):
        Disk().lock(str(tmp_path))
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    Disk().lock(str(tmp_path)).release()
