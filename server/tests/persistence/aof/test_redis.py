"""The AOF and a real redis-server: each continues with an AOF that the other wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forebay.errors import CorruptDataError
from forebay.persistence.aof.loader import AofLoader
from forebay.persistence.aof.manifest import parse_manifest
from forebay.persistence.files import Disk
from reliability.redis_judge import check_aof, redis_on
from server.tests.support.aof_files import (
    FOLDER,
    NAME,
    Notes,
    command,
    load,
    new_aof,
    reopen,
    transaction,
    units,
)
from testkit.waiting import wait_until

pytestmark = pytest.mark.oracle

NO_SAVE = ("--save", "", "--appendfsync", "always")


def add(at: int) -> bytes:
    return command("XADD", "s", f"{at}-1", "f", "v")


def ids(client: object) -> list[bytes]:
    return [entry[0] for entry in client("XRANGE", "s", "-", "+")]  # type: ignore[operator]


def test_redis_loads_an_aof_with_checksums_and_marks(tmp_path: Path) -> None:
    aof = new_aof(Disk(), str(tmp_path))
    aof.append(*units(command("SELECT", 0) + add(1), transaction(add(2), add(3))))
    aof.sync()
    aof.append(*units(add(4)))
    aof.close()
    assert b"#SYNC:" in aof_of(tmp_path).read_bytes()
    assert check_aof(tmp_path) == ""
    with redis_on(tmp_path, *NO_SAVE) as client:
        assert ids(client) == [b"1-1", b"2-1", b"3-1", b"4-1"]


def test_redis_loads_units_of_a_turn_that_have_one_checksum(tmp_path: Path) -> None:
    aof = new_aof(Disk(), str(tmp_path))
    place = b"#REPL:" + b"a" * 40 + b":17:0\r\n"
    turn = b"#TURN:2\r\n" + command("SELECT", 0) + add(1) + transaction(add(2), add(3)) + place
    aof.append(*units(turn))
    aof.close()
    assert check_aof(tmp_path) == ""
    with redis_on(tmp_path, *NO_SAVE) as client:
        assert ids(client) == [b"1-1", b"2-1", b"3-1"]


def aof_of(root: Path) -> Path:
    """The last increment."""
    path = root / FOLDER / f"{NAME}.manifest"
    last = parse_manifest(path.read_bytes(), str(path)).last()
    assert last is not None
    return root / FOLDER / last.name


def test_each_goes_on_with_what_the_other_wrote_again_and_again(tmp_path: Path) -> None:
    disk = Disk()
    aof = new_aof(disk, str(tmp_path))
    number = 0
    for turn in range(3):
        aof.append(*units(command("SELECT", 0) + add(number + 1), add(number + 2)))
        aof.close()
        assert check_aof(tmp_path) == ""
        with redis_on(tmp_path, *NO_SAVE) as client:
            assert len(ids(client)) == number + 2
            client("XADD", "s", f"{number + 3}-1", "f", "by redis")
            if turn == 1:
                client("MULTI")
                client("SET", "k", "v")
                client("XADD", "s", f"{number + 4}-1", "f", "in a transaction")
                assert len(client("EXEC")) == 2
            else:
                client("XADD", "s", f"{number + 4}-1", "f", "alone")
        number += 4
        notes = Notes()
        content, aof = reopen(disk, str(tmp_path), notes)
        assert content.count(b"XADD") == number
        assert notes == []
    aof.close()


def test_one_command_of_redis_behind_ours_is_not_taken_for_a_torn_record(tmp_path: Path) -> None:
    aof = new_aof(Disk(), str(tmp_path))
    aof.append(*units(command("SELECT", 0) + add(1)))
    aof.close()
    with redis_on(tmp_path, *NO_SAVE) as client:
        client("XADD", "s", "2-1", "f", "v")
    content, _ = load(Disk(), str(tmp_path))
    assert content.endswith(add(2))


def test_a_flip_in_what_redis_wrote_is_found_once_we_have_gone_on(tmp_path: Path) -> None:
    disk = Disk()
    new_aof(disk, str(tmp_path)).close()
    with redis_on(tmp_path, *NO_SAVE) as client:
        for i in range(1, 20):
            client("XADD", "s", f"{i}-1", "f", "value")
    _, aof = reopen(disk, str(tmp_path))
    aof.append(*units(add(50)))
    path = Path(aof.path)
    aof.close()
    text = bytearray(path.read_bytes())
    text[text.index(b"value", 300)] ^= 4
    path.write_bytes(text)
    with pytest.raises(CorruptDataError, match="many records have no checksum"):
        load(disk, str(tmp_path))


def test_an_aof_with_timestamps_is_loaded_without_them(tmp_path: Path) -> None:
    disk = Disk()
    new_aof(disk, str(tmp_path)).close()
    with redis_on(tmp_path, *NO_SAVE, "--aof-timestamp-enabled", "yes") as client:
        client("XADD", "s", "1-1", "f", "v")
        client("MULTI")
        client("XADD", "s", "2-1", "f", "v")
        client("SET", "k", "v")
        client("EXEC")
    assert b"#TS:" in aof_of(tmp_path).read_bytes()
    content, aof = reopen(disk, str(tmp_path))
    assert content == command("SELECT", 0) + add(1) + transaction(add(2), command("SET", "k", "v"))
    aof.append(*units(add(3)))
    aof.close()
    assert check_aof(tmp_path) == ""


def test_manifest_and_files_of_a_redis_that_has_rewritten_its_aof_are_understood(
    tmp_path: Path,
) -> None:
    with redis_on(tmp_path, *NO_SAVE, "--aof-use-rdb-preamble", "no") as client:
        client("XADD", "s", "1-1", "f", "v")
        client("BGREWRITEAOF")
        wait_until(
            "the AOF is rewritten",
            lambda: (
                b"aof_rewrite_in_progress:0" in client("INFO", "persistence")
                and (tmp_path / FOLDER / f"{NAME}.2.base.aof").exists()
            ),
        )
        client("XADD", "s", "2-1", "f", "v")
    disk = Disk()
    loader = AofLoader(disk, str(tmp_path / FOLDER), NAME, Notes())
    loader.look()
    assert next(part.name for part in loader.parts()) == f"{NAME}.2.base.aof"
    content, aof = reopen(disk, str(tmp_path))
    assert content.index(add(1)[:-20]) < content.index(add(2))
    aof.append(*units(add(3)))
    aof.rotate()
    aof.append(*units(add(4)))
    temp = tmp_path / FOLDER / "temp-rewrite-1.aof"
    temp.write_bytes(add(1) + add(2) + add(3))
    aof.adopt(str(temp), "aof")
    aof.close()
    assert check_aof(tmp_path) == ""
    with redis_on(tmp_path, *NO_SAVE) as client:
        assert len(ids(client)) == 4


def test_a_torn_aof_that_we_have_cut_is_good_for_redis(tmp_path: Path) -> None:
    disk = Disk()
    aof = new_aof(disk, str(tmp_path))
    aof.append(*units(command("SELECT", 0) + add(1), add(2), transaction(add(3), add(4))))
    path = Path(aof.path)
    aof.close()
    whole = path.read_bytes()
    for cut in range(20, len(whole), 13):
        path.write_bytes(whole[:cut] + bytes(cut % 40))
        load(disk, str(tmp_path))
        assert check_aof(tmp_path) == "", cut
        for copy in (tmp_path / FOLDER).glob("*.corrupt-*"):
            copy.unlink()


def test_an_old_single_file_is_taken_over_by_both_in_the_same_way(tmp_path: Path) -> None:
    old = command("SELECT", 0) + add(1) + add(2)
    for root in (tmp_path / "ours", tmp_path / "theirs"):
        root.mkdir()
        (root / NAME).write_bytes(old)
    _, aof = reopen(Disk(), str(tmp_path / "ours"))
    aof.close()
    with redis_on(tmp_path / "theirs", *NO_SAVE) as client:
        assert len(ids(client)) == 2
    entries = []
    for root in (tmp_path / "ours", tmp_path / "theirs"):
        path = root / FOLDER / f"{NAME}.manifest"
        manifest = parse_manifest(path.read_bytes(), str(path))
        entries.append((manifest.base, manifest.increments))
        assert (root / FOLDER / NAME).read_bytes() == old
        assert not (root / NAME).exists()
    assert entries[0] == entries[1]
    shutil.rmtree(tmp_path / "theirs")
    with redis_on(tmp_path / "ours", *NO_SAVE) as client:
        assert len(ids(client)) == 2
