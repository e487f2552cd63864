"""``forebay check``: its verdict on good and damaged files, and --fix loses no byte."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import main
from forebay.persistence.files import Disk
from forebay.server.process import Halt
from server.tests.support.aof_files import FOLDER, NAME, command, seal_all, write_aof
from testkit.durable_server import DurableServer
from testkit.engine_client import EngineClient
from testkit.rdb_files import saved

UNITS = [command("XADD", "s", f"{i}-1", "field", f"value {i}") for i in range(1, 9)]
GOOD = seal_all(*UNITS)
#: Units that may follow it in the next file of an AOF.
NEXT = seal_all(*(command("XADD", "s", f"{i}-1", "field", "value") for i in range(11, 19)))
#: The offset after the third unit.
THREE = len(seal_all(*UNITS[:3]))


def snapshot() -> bytes:
    """A small RDB file."""
    client = EngineClient()
    client("XADD s 1-1 f v")
    client("SET k v")
    return saved(client.engine.keyspace)


def files_below(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


class Check:
    """Runs the command and keeps what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *args: object) -> int:
        code = main(["check", *map(str, args)])
        self.out, self.err = self.capsys.readouterr()
        assert "Traceback" not in self.err
        return code

    def facts(self) -> dict[str, Any]:
        """The last line of JSON."""
        facts: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return facts


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    return Check(capsys)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


# Its verdicts


def test_a_good_data_directory_is_named_file_by_file(tmp_path: Path, check: Check) -> None:
    write_aof(tmp_path, GOOD, NEXT)
    (tmp_path / "dump.rdb").write_bytes(snapshot())
    before = files_below(tmp_path)
    assert check(tmp_path) == 0
    lines = check.out.splitlines()
    assert lines[0].startswith(f"{tmp_path}/{FOLDER}/{NAME}.manifest: an AOF of 2 files, ")
    assert lines[1].startswith(f"  {NAME}.1.incr.aof: 8 commands, with 9 checksums, ")
    assert lines[1].endswith(": good")
    assert f"{tmp_path}/dump.rdb: a snapshot of 2 keys, " in lines[3]
    assert lines[-1] == "good: a server loads all of it"
    assert check.err == ""
    assert files_below(tmp_path) == before


@pytest.mark.parametrize(
    "name", [FOLDER, f"{FOLDER}/{NAME}.manifest", f"{FOLDER}/{NAME}.1.incr.aof"]
)
def test_an_aof_has_three_names(tmp_path: Path, check: Check, name: str) -> None:
    write_aof(tmp_path, GOOD)
    assert check(tmp_path / name) == 0
    assert check.out.endswith("good: a server loads all of it\n")


def test_an_unfinished_end_is_told_from_damage(tmp_path: Path, check: Check) -> None:
    (path,) = write_aof(tmp_path, GOOD[:-20])
    assert check(path) == 1
    assert f"good up to offset {len(seal_all(*UNITS[:7]))}; after it come" in check.out
    assert check.out.endswith("a server cuts it off and loads the rest\n")
    path.write_bytes(flipped(GOOD, THREE + 30))
    assert check(path) == 1
    assert f"good up to offset {THREE}; after it come {len(GOOD) - THREE} bytes" in check.out
    assert "with 5 records in them" in check.out
    assert check.out.endswith("damaged: a server does not start with it\n")


def test_json_has_all_of_it_in_one_line(tmp_path: Path, check: Check) -> None:
    (path,) = write_aof(tmp_path, flipped(GOOD, THREE + 30))
    assert check("--json", tmp_path) == 1
    assert check.out.count("\n") == 1
    facts = check.facts()
    assert (facts["good"], facts["loadable"], facts["done"]) == (False, False, [])
    (part,) = facts["parts"]
    assert part["path"] == str(path)
    assert part["good_bytes"] == THREE
    assert part["damage"]["offset"] == THREE
    assert part["damage"]["is_tail"] is False
    assert part["damage"]["bytes_behind"] == len(GOOD) - THREE


def test_values_of_other_types_are_named(tmp_path: Path, check: Check) -> None:
    hash_type = b"\x04\x01h\x01\x01a\x01b"
    path = tmp_path / "other.rdb"
    path.write_bytes(b"REDIS0010\xfe\x00" + hash_type + b"\xff" + bytes(8))
    assert check(path) == 1, "a server does not start with it unless it is told to"
    assert "holds 1 hash, which a server leaves out with skip-foreign-types yes" in check.out
    assert "leaves out types that it does not have" in check.out


def test_commands_that_this_server_does_not_have_are_named(tmp_path: Path, check: Check) -> None:
    looks_like_one = command("SET", "k", command("HDEL", "h"))
    strange = [command("HSET", "h", i, "v") for i in range(3)]
    write_aof(tmp_path, b"".join([*UNITS, looks_like_one, *strange, command("zadd", "z", 1, "m")]))
    assert check(tmp_path) == 1
    assert "the AOF holds 3 x HSET, 1 x ZADD, which a server leaves out" in check.out
    assert "skip-foreign-types yes, and leaves out types that it does not have" in check.out
    assert check("--json", tmp_path) == 1
    assert check.facts()["left_out"] == {"HSET": 3, "ZADD": 1}
    write_aof(tmp_path, b"".join([*UNITS, looks_like_one]))
    assert check(tmp_path) == 0
    assert check.out.endswith("good: a server loads all of it\n")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"REDIS9999" + bytes(20), "RDB version 9999 is newer"),
        (b"REDIS0010\xfe\x00\x63", "at offset 11"),
        (snapshot()[:-3], "at offset"),
        (flipped(snapshot(), len(snapshot()) - 2), "checksum"),
        (b"*3\r\n$99999999999\r\n", "at offset 0"),
    ],
)
def test_bad_input_is_told_with_its_offset_and_left_alone(
    tmp_path: Path, check: Check, content: bytes, words: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert check(path) == 1
    assert words in check.out
    assert "DAMAGED" in check.out
    assert files_below(tmp_path) == {"file": content}


NO_LOGS = [
    b"# Notes\n\n* first\n",
    b"hello\n",
    b"\x7fELF" + bytes(100),
    bytes(5000),
    b"* 3\r\n$3\r\nSET\r\n",
    b"#!/bin/sh\r\n*1\r\n",
    b"#CRC:no\r\n" + UNITS[0],
]


@pytest.mark.parametrize("content", NO_LOGS)
@pytest.mark.parametrize("options", [[], ["--fix"], ["--fix", "--cut-at", "0"]])
def test_a_file_that_does_not_begin_as_an_aof_is_none_and_is_not_touched(
    tmp_path: Path, check: Check, content: bytes, options: list[str]
) -> None:
    path = tmp_path / "README.md"
    path.write_bytes(content)
    assert check(*options, path) == 1
    assert f"{path}: {len(content):,} bytes: not an AOF: its first bytes are no record" in check.out
    assert check.out.endswith("nothing to load, and nothing to repair\n")
    assert files_below(tmp_path) == {"README.md": content}


@pytest.mark.parametrize("content", [GOOD, b"#TS:1700000000\r\n" + UNITS[0]])
def test_every_beginning_of_an_aof_is_known_as_one(
    tmp_path: Path, check: Check, content: bytes
) -> None:
    path = tmp_path / "appendonly.aof"
    for size in range(80):
        path.write_bytes(content[:size])
        check("--quick", path)
        assert "not an AOF" not in check.out, size


def test_an_aof_whose_file_is_missing_is_told(tmp_path: Path, check: Check) -> None:
    paths = write_aof(tmp_path, GOOD, GOOD)
    paths[0].unlink()
    assert check(tmp_path) == 1
    assert f"{paths[0]} is missing" in check.out
    assert check("--fix", tmp_path) == 1
    assert paths[1].read_bytes() == GOOD


# Commands that a server refuses

REFUSED = [
    (command("SET", "k", "v", "NOSUCH"), "'SET k v NOSUCH' is answered with 'ERR syntax error'"),
    (command("NOSUCH", "k"), "'NOSUCH k' is not known here"),
    (command("SELECT", "16"), "'SELECT 16' is answered with 'ERR DB index is out of range'"),
    (command("XADD", "s", "1-0", "f", "v"), "'XADD s 1-0 f v' is answered with 'ERR The ID "),
]


@pytest.mark.parametrize(("bad", "why"), REFUSED)
@pytest.mark.parametrize("is_sealed", [True, False])
def test_a_command_that_a_server_refuses_is_named_with_file_and_offset(
    tmp_path: Path, check: Check, bad: bytes, why: str, is_sealed: bool
) -> None:
    units = [*UNITS, bad, command("SET", "k", "v")]
    (path,) = write_aof(tmp_path, seal_all(*units) if is_sealed else b"".join(units))
    before = files_below(tmp_path)
    assert check(tmp_path) == 1
    assert f"\n{path}, offset {path.read_bytes().index(bad)}: the command {why}" in check.out
    assert check.out.endswith("refused: a server does not start with it\n")
    assert check("--json", tmp_path) == 1
    facts = check.facts()
    assert (facts["good"], facts["loadable"], facts["run"]) == (False, False, True)
    assert why in facts["refusal"]
    assert check("--fix", tmp_path) == 1
    assert files_below(tmp_path) == before
    with pytest.raises(Halt) as halt:
        DurableServer(tmp_path)
    assert facts["refusal"] in str(halt.value.code)


def test_a_quick_look_runs_nothing_and_says_so(tmp_path: Path, check: Check) -> None:
    write_aof(tmp_path, seal_all(command("NOSUCH", "k")))
    assert check("--quick", tmp_path) == 0
    assert check.out.endswith("good: all bytes are intact; the commands were not run\n")


def test_a_server_with_more_databases_is_asked_for(tmp_path: Path, check: Check) -> None:
    write_aof(tmp_path, command("SELECT", "20") + command("SET", "k", "v"))
    assert check(tmp_path) == 1
    assert check("--databases", "21", tmp_path) == 0


def test_a_file_of_an_aof_is_run_with_those_before_it(tmp_path: Path, check: Check) -> None:
    first = seal_all(command("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM"))
    _, path = write_aof(tmp_path, first, seal_all(command("XGROUP", "SETID", "s", "g", "7-0")))
    assert check(path) == 0
    assert check.out.endswith("good: a server loads all of it\n")
    alone = tmp_path / "copy.incr.aof"
    alone.write_bytes(path.read_bytes())
    assert check(alone) == 0
    assert check.out.endswith("were not run\n")


def test_an_unfinished_end_of_an_aof_stays_although_the_rest_is_run(
    tmp_path: Path, check: Check
) -> None:
    write_aof(tmp_path, GOOD[:-20])
    before = files_below(tmp_path)
    assert check(tmp_path) == 1
    assert check.out.endswith("a server cuts it off and loads the rest\n")
    assert files_below(tmp_path) == before


# Repair


def test_fix_cuts_an_unfinished_end_and_keeps_it(tmp_path: Path, check: Check) -> None:
    (path,) = write_aof(tmp_path, GOOD[:-20])
    good = len(seal_all(*UNITS[:7]))
    assert check("--fix", tmp_path) == 0
    assert path.read_bytes() == GOOD[:good]
    assert Path(f"{path}.corrupt-{good}").read_bytes() == GOOD[good:-20]
    assert f"cut {path} at offset {good}" in check.out
    assert check.out.endswith("good: a server loads all of it\n")
    assert check(tmp_path) == 0


def test_fix_of_a_good_aof_does_nothing(tmp_path: Path, check: Check) -> None:
    write_aof(tmp_path, GOOD)
    before = files_below(tmp_path)
    assert check("--fix", tmp_path) == 0
    assert files_below(tmp_path) == before


def test_damage_in_the_middle_is_cut_only_at_the_offset_that_was_said(
    tmp_path: Path, check: Check
) -> None:
    (path,) = write_aof(tmp_path, flipped(GOOD, THREE + 30))
    before = files_below(tmp_path)
    assert check("--fix", tmp_path) == 1
    assert f"forebay check --fix --cut-at {THREE} {tmp_path}" in check.err
    assert check.err.count("\n") == 1
    assert check("--fix", "--cut-at", 7, tmp_path) == 1
    assert f"damaged at offset {THREE}, not at 7" in check.err
    assert files_below(tmp_path) == before
    assert check("--fix", "--cut-at", THREE, tmp_path) == 0
    assert path.read_bytes() == GOOD[:THREE]
    assert Path(f"{path}.corrupt-{THREE}").read_bytes() == before[f"{FOLDER}/{path.name}"][THREE:]


@pytest.mark.parametrize("by", ["folder", "file"])
def test_a_cut_sets_later_files_of_the_aof_aside(tmp_path: Path, check: Check, by: str) -> None:
    first, second = write_aof(tmp_path, flipped(GOOD, THREE + 30), NEXT)
    where = tmp_path if by == "folder" else first
    assert check("--fix", "--cut-at", THREE, where) == 0
    assert not second.exists()
    assert Path(f"{second}.corrupt-0").read_bytes() == NEXT
    assert second.name not in (tmp_path / FOLDER / f"{NAME}.manifest").read_text()
    assert check(tmp_path) == 0


def test_whatever_the_damage_a_repair_keeps_every_byte_and_leaves_a_good_aof(
    tmp_path: Path, check: Check
) -> None:
    dice = random.Random(seed := 20261116)
    for number in range(30):
        root = tmp_path / str(number)
        damaged = bytearray(GOOD)
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        path, later = write_aof(root, bytes(damaged[: dice.randint(1, len(damaged))]), NEXT)
        before = path.read_bytes()
        check("--json", root)
        damage = check.facts()["parts"][0]["damage"]
        offset = damage["offset"] if damage else -1
        code = check("--fix", *(["--cut-at", offset] if damage else []), root)
        assert code == 0, f"number {number}, seed {seed}: {check.out} {check.err}"
        assert check(root) == 0
        if damage:
            kept = Path(f"{path}.corrupt-{offset}").read_bytes()
            assert path.read_bytes() + kept == before
            assert Path(f"{later}.corrupt-0").read_bytes() == NEXT
        else:
            assert path.read_bytes() == before
            assert later.read_bytes() == NEXT


def test_a_snapshot_cannot_be_repaired(tmp_path: Path, check: Check) -> None:
    path = tmp_path / "dump.rdb"
    path.write_bytes(snapshot()[:-3])
    assert check("--fix", path) == 1
    assert "cannot be repaired" in check.err + check.out
    assert files_below(tmp_path) == {"dump.rdb": snapshot()[:-3]}


def test_nothing_is_checked_or_repaired_under_a_running_server(
    tmp_path: Path, check: Check
) -> None:
    (path,) = write_aof(tmp_path, GOOD[:-20])
    lock = Disk().lock(str(tmp_path))
    before = files_below(tmp_path)
    for args in ((path,), (tmp_path,), ("--fix", tmp_path), ("--fix", path)):
        assert check(*args) == 1
        assert "is used by another server (pid " in check.err
        assert check.err.count("\n") == 1
    assert files_below(tmp_path) == before
    lock.release()
    assert check("--fix", tmp_path) == 0


# The line


def test_help_teaches(check: Check) -> None:
    assert check("--help") == 0
    for word in ("--fix", "--cut-at", "--json", "exit code", "examples"):
        assert word in check.out


@pytest.mark.parametrize(
    "args", [[], ["a", "b"], ["--unknown", "x"], ["--cut-at", "7", "x"], ["--cut-at", "y", "x"]]
)
def test_a_wrong_line_is_exit_code_two_and_one_sentence(check: Check, args: list[str]) -> None:
    assert check(*args) == 2
    assert check.err.startswith("forebay: ")
    assert "try: forebay check --help" in check.err
    assert check.err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_path_with_nothing_to_check_is_one_sentence(
    tmp_path: Path, check: Check, name: str
) -> None:
    (tmp_path / "empty").mkdir()
    assert check(tmp_path / name) == 1
    assert check.err.startswith("forebay: ")
    assert str(tmp_path / name) in check.err
    assert check.err.count("\n") == 1


def test_a_path_longer_than_any_buffer_is_only_not_there(tmp_path: Path, check: Check) -> None:
    """CVE-2025-27151."""
    for length in (255, 256, 1023, 1024, 4095, 4096, 5000, 100_000):
        assert check(tmp_path / ("x" * length)) == 1
    deep = tmp_path
    for _ in range(15):
        deep = deep / ("d" * 200)
    deep.mkdir(parents=True)
    assert check(deep) == 1
