"""The verdicts of `verify` about AOFs and snapshots, and the repairs of `fix`."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.core.keyspace import Keyspace
from forebay.errors import ConfigError, CorruptDataError, DiskError
from forebay.persistence.aof.manifest import Entry, parse_manifest
from forebay.persistence.files import Disk
from forebay.persistence.rdb.snapshot import save
from forebay.persistence.verify import Report, aofs_at, fix, verify
from server.tests.support.aof_files import FOLDER, NAME, command, load, seal_all, write_aof

ONE = command("XADD", "s", "1-1", "f", "v")
TWO = command("XADD", "s", "2-1", "f", "v" * 50)


def snapshot_bytes(**values: bytes) -> bytes:
    keyspace = Keyspace()
    for key, value in values.items():
        keyspace.databases[0].put(key.encode(), value)
    pieces: list[bytes] = []
    for _ in save(keyspace, pieces.append):
        pass
    return b"".join(pieces)


def look(path: Path) -> Report:
    return verify(Disk(), str(path))


def state(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def test_a_good_aof_is_counted(tmp_path: Path) -> None:
    write_aof(tmp_path, seal_all(ONE, TWO), seal_all(ONE))
    for path in (tmp_path, tmp_path / FOLDER, tmp_path / FOLDER / f"{NAME}.manifest"):
        report = look(path)
        assert report.is_good and report.is_loadable
        assert [part.units for part in report.parts] == [2, 1]
        assert [part.seals for part in report.parts] == [3, 2]
        assert all(part.good_bytes == part.size and part.is_in_aof for part in report.parts)


def test_looking_changes_nothing(tmp_path: Path) -> None:
    write_aof(tmp_path, seal_all(ONE, TWO)[:-3])
    (tmp_path / FOLDER / "temp-save-1.rdb").touch()
    before = state(tmp_path)
    report = look(tmp_path)
    assert not report.is_good and report.is_loadable
    assert state(tmp_path) == before


def test_progress_runs_up_to_all_bytes(tmp_path: Path) -> None:
    paths = write_aof(tmp_path, seal_all(*[ONE] * 5000), seal_all(*[TWO] * 5000))
    total = sum(path.stat().st_size for path in paths)
    seen: list[tuple[int, int]] = []
    verify(Disk(), str(tmp_path), lambda done, of: seen.append((done, of)))
    assert seen == sorted(seen)
    assert seen[-1] == (total, total)


def test_an_unfinished_end_is_explained_and_fixed(tmp_path: Path) -> None:
    good = seal_all(ONE)
    (path,) = write_aof(tmp_path, good + TWO[:20])
    (part,) = look(tmp_path).parts
    assert "an unfinished end" in part.problem and str(len(good)) in part.problem
    assert f"{path}.corrupt-{len(good)}" in part.advice and "20 bytes" in part.advice
    lines = fix(Disk(), str(tmp_path))
    assert len(lines) == 1 and "cut" in lines[0]
    assert path.read_bytes() == good
    assert Path(f"{path}.corrupt-{len(good)}").read_bytes() == TWO[:20]
    assert look(tmp_path).is_good
    assert fix(Disk(), str(tmp_path)) == []


def test_damage_in_the_middle_is_cut_only_by_fix_and_later_files_are_set_aside(
    tmp_path: Path,
) -> None:
    first = bytearray(seal_all(ONE, TWO, ONE))
    first[len(seal_all(ONE)) + 30] ^= 1
    paths = write_aof(tmp_path, bytes(first), seal_all(TWO), b"")
    report = look(tmp_path)
    assert not report.is_loadable
    assert "good records follow" in report.parts[0].problem
    with pytest.raises(CorruptDataError):
        load(Disk(), str(tmp_path))
    lines = fix(Disk(), str(tmp_path))
    assert len(lines) == 2
    assert Path(f"{paths[1]}.corrupt-0").read_bytes() == seal_all(TWO)
    assert Path(f"{paths[0]}.corrupt-{len(seal_all(ONE))}").exists()
    assert load(Disk(), str(tmp_path))[0] == ONE
    path = tmp_path / FOLDER / f"{NAME}.manifest"
    manifest = parse_manifest(path.read_bytes(), str(path))
    assert manifest.increments == [Entry(paths[0].name, 1, "i"), Entry(paths[2].name, 3, "i")]


def test_a_single_file_of_commands_is_judged_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "some.aof"
    path.write_bytes(ONE + TWO + b"\0" * 50)
    (part,) = look(path).parts
    assert (part.kind, part.units, part.good_bytes) == ("commands", 2, len(ONE + TWO))
    fix(Disk(), str(path))
    assert path.read_bytes() == ONE + TWO


def test_a_snapshot_is_good_or_cannot_be_repaired(tmp_path: Path) -> None:
    path = tmp_path / "dump.rdb"
    text = snapshot_bytes(a=b"1", b=b"2")
    path.write_bytes(text)
    (part,) = look(tmp_path).parts
    assert (part.kind, part.keys, part.is_good, part.is_in_aof) == ("rdb", 2, True, False)
    path.write_bytes(text[:-3] + b"xyz")
    (part,) = look(path).parts
    assert "checksum" in part.problem and "restore" in part.advice
    with pytest.raises(CorruptDataError, match="restore"):
        fix(Disk(), str(path))
    assert path.read_bytes() == text[:-3] + b"xyz"


def test_commands_behind_a_snapshot_belong_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "appendonly.aof"
    text = snapshot_bytes(a=b"1")
    path.write_bytes(text + ONE + TWO[:-1])
    (part,) = look(path).parts
    assert (part.kind, part.keys, part.units) == ("rdb", 1, 1)
    assert part.good_bytes == len(text + ONE)
    fix(Disk(), str(path))
    assert path.read_bytes() == text + ONE


def test_a_file_that_is_something_else_is_neither_good_nor_cut(tmp_path: Path) -> None:
    path = tmp_path / "notes.aof"
    path.write_bytes(b"Dear diary\r\n")
    report = look(path)
    (part,) = report.parts
    assert not report.is_loadable and part.is_strange
    assert part.problem == "not an AOF: its first bytes are no record, at offset 0"
    with pytest.raises(CorruptDataError):
        fix(Disk(), str(path))
    assert path.read_bytes() == b"Dear diary\r\n"


def test_what_can_be_run_are_whole_aofs_and_snapshots_with_commands(tmp_path: Path) -> None:
    paths = write_aof(tmp_path, seal_all(ONE), seal_all(TWO))
    snapshot, old = tmp_path / "dump.rdb", tmp_path / "old.aof"
    snapshot.write_bytes(snapshot_bytes(a=b"1"))
    old.write_bytes(snapshot_bytes(a=b"1") + ONE)

    def runnable(path: Path) -> list[list[str]]:
        return [[part.path for part in log] for log in aofs_at(Disk(), str(path))]

    assert runnable(tmp_path) == [[*map(str, paths)], [str(old)]]
    assert runnable(tmp_path / FOLDER) == [[*map(str, paths)]]
    assert runnable(old) == [[str(old)]]
    assert runnable(paths[1]) == [], "an increment alone is no beginning"
    assert runnable(snapshot) == []


def test_a_data_folder_is_looked_at_as_a_whole(tmp_path: Path) -> None:
    write_aof(tmp_path, seal_all(ONE))
    (tmp_path / "dump.rdb").write_bytes(snapshot_bytes(a=b"1"))
    (tmp_path / "temp-save-3.rdb").write_bytes(b"half")
    report = look(tmp_path)
    assert [(part.kind, part.is_in_aof) for part in report.parts] == [
        ("commands", True),
        ("rdb", False),
    ]
    assert report.is_good


def test_a_missing_file_of_the_aof_is_a_problem_of_the_whole(tmp_path: Path) -> None:
    paths = write_aof(tmp_path, seal_all(ONE), seal_all(TWO))
    paths[0].unlink()
    report = look(tmp_path)
    assert "missing" in report.problem and not report.is_good and not report.is_loadable
    with pytest.raises(CorruptDataError, match="missing"):
        fix(Disk(), str(tmp_path))


def test_what_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(CorruptDataError, match="neither an AOF nor a snapshot"):
        look(tmp_path)
    with pytest.raises(DiskError, match="No such file"):
        look(tmp_path / "nothing.aof")
    for name in ("a", "b"):
        (tmp_path / f"{name}.manifest").write_text("file x seq 1 type i\n")
    with pytest.raises(CorruptDataError, match="2 manifests"):
        look(tmp_path)


def test_a_place_where_a_server_runs_is_not_fixed(tmp_path: Path) -> None:
    (path,) = write_aof(tmp_path, ONE[:-1])
    disk = Disk()
    lock = disk.lock(str(tmp_path))
    for place in (tmp_path, tmp_path / FOLDER, path):
        with pytest.raises(ConfigError, match="used by another server"):
            fix(disk, str(place))
    assert path.read_bytes() == ONE[:-1]
    lock.release()
    fix(disk, str(path))
    assert path.read_bytes() == b""
