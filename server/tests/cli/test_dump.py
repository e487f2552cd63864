"""``forebay dump``: AOFs and snapshots shown as text and as JSON lines."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import main
from forebay.cli.output import Bar, text_of
from server.tests.support.aof_files import FOLDER, NAME, command, seal_all, transaction, write_aof
from testkit.engine_client import EngineClient
from testkit.rdb_files import saved

LOG = [
    command("SELECT", "0") + command("XADD", "orders", "1-1", "item", "tea for two"),
    transaction(command("INCR", "n"), command("XADD", "orders", "2-1", "item", b"\xff\x00")),
    command("XGROUP", "CREATE", "clicks", "g", "$", "MKSTREAM"),
    command("HSET", "hash", "f", "v"),
]


def snapshot() -> bytes:
    """Every type, a group, an expiry, words that are not text."""
    client = EngineClient()
    for i in range(1, 8):
        client("XADD", "orders", f"{i}-1", "item", b"\xff" if i == 1 else f"tea {i}")
    client("XGROUP", "CREATE", "orders", "mail", "0")
    client("XREADGROUP", "GROUP", "mail", "ann", "COUNT", "2", "STREAMS", "orders", ">")
    client("SET", "lock", "v", "PXAT", "1800000000000")
    client("RPUSH", "list", *range(9))
    client("SADD", "set", *"gfedcba")
    client("SELECT", "3")
    client("SET", "big", "y" * 5000)
    return saved(client.engine.keyspace)


class Dump:
    """Runs the command and keeps what it said."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *args: object) -> int:
        code = main(["dump", *map(str, args)])
        self.out, self.err = self.capsys.readouterr()
        return code

    def rows(self) -> list[dict[str, Any]]:
        """The lines of JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def dump(capsys: pytest.CaptureFixture[str]) -> Dump:
    return Dump(capsys)


@pytest.fixture
def rdb(tmp_path: Path) -> Path:
    path = tmp_path / "dump.rdb"
    path.write_bytes(snapshot())
    return path


# Logs


def test_an_aof_is_shown_command_by_command_with_offsets(tmp_path: Path, dump: Dump) -> None:
    (path,) = write_aof(tmp_path, data := seal_all(*LOG))
    assert dump(tmp_path) == 0
    lines = dump.out.splitlines()
    assert lines[0] == f"# {path}"
    assert lines[2].split(None, 1)[1] == 'XADD orders 1-1 item "tea for two"'
    assert lines[5].split(None, 1)[1] == 'XADD orders 2-1 item "\\xff\\x00"'
    for line in lines[1:]:
        offset, name = line.split()[:2]
        assert data[int(offset) :].split(b"\r\n", 3)[2] == name.encode()
    assert dump.err == ""


def test_json_of_an_aof_keeps_every_bit(tmp_path: Path, dump: Dump) -> None:
    write_aof(tmp_path, seal_all(*LOG))
    assert dump("--json", tmp_path) == 0
    rows = dump.rows()
    assert rows[1]["command"] == ["XADD", "orders", "1-1", "item", "tea for two"]
    assert rows[4]["command"][-1] == {"base64": "/wA="}
    assert {row["file"] for row in rows} == {f"{NAME}.1.incr.aof"}


def test_commands_are_chosen_by_their_keys(tmp_path: Path, dump: Dump) -> None:
    write_aof(tmp_path, seal_all(*LOG))
    assert dump("--keys", "[oc]*", tmp_path) == 0
    assert [line.split()[1] for line in dump.out.splitlines()[1:]] == ["XADD", "XADD", "XGROUP"]
    assert dump("--json", "--keys", "hash", tmp_path) == 0
    assert [row["command"][0] for row in dump.rows()] == ["HSET"]


def test_a_base_with_a_snapshot_in_front_of_commands_is_shown_whole(
    tmp_path: Path, dump: Dump
) -> None:
    path = tmp_path / "old.aof"
    path.write_bytes(snapshot() + LOG[2])
    assert dump("--entries", "0", path) == 0
    assert "0 orders: stream, 7 entries, 1-1 to 7-1, 1 group, " in dump.out
    assert dump.out.splitlines()[-1].endswith("XGROUP CREATE clicks g $ MKSTREAM")


def test_damage_is_one_line_after_all_that_is_before_it(tmp_path: Path, dump: Dump) -> None:
    data = seal_all(*LOG)
    (path,) = write_aof(tmp_path, data[:-30])
    good = len(seal_all(*LOG[:3]))
    assert dump(tmp_path) == 1
    assert "XGROUP" in dump.out
    assert "HSET" not in dump.out
    assert dump.err.startswith(f"forebay: {path}: an unfinished end at offset {good}: ")
    assert dump.err.count("\n") == 1
    assert path.read_bytes() == data[:-30]
    damaged = bytearray(data)
    damaged[good - 60] ^= 1
    path.write_bytes(damaged)
    assert dump(tmp_path) == 1
    assert f"{path} is damaged at offset {len(seal_all(*LOG[:2]))}" in dump.err
    assert dump.err.count("\n") == 1


# Snapshots


def test_a_snapshot_is_shown_key_by_key(rdb: Path, dump: Dump) -> None:
    assert dump(rdb) == 0
    out = dump.out
    assert "0 orders: stream, 7 entries, 1-1 to 7-1, 1 group, at offset " in out
    assert '    1-1 item "\\xff"\n    2-1 item "tea 2"\n' in out
    assert '    5-1 item "tea 5"\n    ... 2 more\n' in out
    assert "    group mail: last 2-1, 2 pending, 1 consumer\n        ann: 2 pending\n" in out
    assert "0 lock: string, 1 byte, expires 2027-01-15 08:00:00 UTC, at offset " in out
    assert "0 set: set, 7 items, at offset " in out
    assert "    a\n    b\n    c\n    d\n    e\n    ... 2 more\n" in out
    assert "3 big: string, 5,000 bytes, at offset " in out
    assert "yyy... (5,000 bytes)\n" in out
    assert max(map(len, out.splitlines())) < 250


def test_json_of_a_snapshot_has_everything(rdb: Path, dump: Dump) -> None:
    assert dump("--json", rdb) == 0
    rows = {row["key"]: row for row in dump.rows()}
    orders = rows["orders"]
    assert (orders["db"], orders["type"], orders["length"]) == (0, "stream", 7)
    assert (orders["first"], orders["last"]) == ("1-1", "7-1")
    assert orders["entries"][0] == ["1-1", ["item", {"base64": "/w=="}]]
    assert orders["entries"][6] == ["7-1", ["item", "tea 7"]]
    (group,) = orders["groups"]
    assert (group["name"], group["last"], group["pending"]) == ("mail", "2-1", 2)
    assert group["consumers"] == [{"name": "ann", "pending": 2}]
    assert rows["lock"]["expires_ms"] == 1_800_000_000_000
    assert rows["lock"]["value"] == "v"
    assert rows["list"]["items"] == [str(i) for i in range(9)]
    assert rows["set"]["items"] == list("abcdefg")
    assert rows["big"]["db"] == 3
    data = rdb.read_bytes()
    for row in rows.values():
        key = row["key"].encode()
        assert data[row["offset"] + 1 :].startswith(bytes([len(key)]) + key)


def test_keys_and_entries_are_chosen(rdb: Path, dump: Dump) -> None:
    assert dump("--keys", "l*", "--entries", "2", "--json", rdb) == 0
    assert sorted(row["key"] for row in dump.rows()) == ["list", "lock"]
    assert [row["items"] for row in dump.rows() if row["key"] == "list"] == [["0", "1"]]
    assert dump("--keys", "orders", "--entries", "0", rdb) == 0
    assert "1-1 item" not in dump.out
    assert "... 7 more" in dump.out


def test_values_of_other_types_are_named_and_stepped_over(tmp_path: Path, dump: Dump) -> None:
    path = tmp_path / "other.rdb"
    hash_type = b"\x04\x01h\x01\x01a\x01b"
    path.write_bytes(b"REDIS0010\xfe\x00" + hash_type + b"\x00\x01k\x01v\xff" + bytes(8))
    assert dump(path) == 0
    assert "0 h: hash, which this server does not have, at offset " in dump.out
    assert "0 k: string, 1 byte, at offset " in dump.out
    assert dump("--json", path) == 0
    assert [(row["key"], row["type"]) for row in dump.rows()] == [("h", "hash"), ("k", "string")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"REDIS9999" + bytes(20), "RDB version 9999 is newer"),
        (b"REDIS0010\xfe\x00\x63", "at offset 11"),
        (snapshot()[:-3], "at offset"),
        (b"\x7fELF" + bytes(100), "at offset 0"),
        (b"*3\r\n$99999999999\r\n", "at offset 0"),
        (b"hello\n", "at offset 0"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_bad_input_is_one_line_with_the_offset(
    tmp_path: Path, dump: Dump, content: bytes, words: str, flags: list[str]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert dump(*flags, path) == 1
    assert words in dump.err
    assert str(path) in dump.err
    assert dump.err.count("\n") == 1
    assert path.read_bytes() == content


def test_no_damaged_file_makes_a_traceback(tmp_path: Path, dump: Dump) -> None:
    dice = random.Random(seed := 20261116)
    path = tmp_path / "file"
    files = (snapshot(), seal_all(*LOG), b"".join(LOG))
    for _ in range(60):
        data = bytearray(dice.choice(files))
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        path.write_bytes(data[: dice.choice((len(data), dice.randrange(len(data))))])
        for tool in ("dump", "check"):
            assert main([tool, str(path)]) in (0, 1), f"seed {seed}"
        dump.out, dump.err = dump.capsys.readouterr()
        assert "Traceback" not in dump.err
        assert dump.err.count("\n") <= 1, dump.err


# The line, the pipe, the bar


def test_help_teaches(dump: Dump) -> None:
    assert dump("--help") == 0
    for word in ("--keys", "--entries", "--json", "exit code", "examples"):
        assert word in dump.out


@pytest.mark.parametrize(
    "args", [[], ["a", "b"], ["--entries", "-1", "x"], ["--entries", "q", "x"]]
)
def test_a_wrong_line_is_exit_code_two_and_one_sentence(dump: Dump, args: list[str]) -> None:
    assert dump(*args) == 2
    assert dump.err.startswith("forebay: ")
    assert "try: forebay dump --help" in dump.err
    assert dump.err.count("\n") == 1


def test_a_missing_file_is_one_sentence(tmp_path: Path, dump: Dump) -> None:
    assert dump(tmp_path / "nothing") == 1
    assert str(tmp_path / "nothing") in dump.err
    assert dump.err.count("\n") == 1


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    many = [command("XADD", "s", f"{i}-1", "f", "v" * 50) for i in range(1, 5000)]
    write_aof(tmp_path, seal_all(*many))
    process = subprocess.Popen(
        [sys.executable, "-m", "forebay", "dump", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"# ")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


def test_words_are_shown_so_that_a_person_can_read_them() -> None:
    assert text_of(b"tea") == "tea"
    assert text_of("grün".encode()) == "grün"
    assert text_of(b"") == '""'
    assert text_of(b'say "hi"\n') == '"say \\"hi\\"\\n"'
    assert text_of(b"\x00\xff\\") == '"\\x00\\xff\\\\"'
    assert text_of(b"x" * 300, 10) == "xxxxxxxxxx... (300 bytes)"


def test_the_bar_is_drawn_on_a_terminal_only_and_wiped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bar = Bar("reading")
    bar.next_s = 0.0
    bar(10, 20)
    bar.wipe()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = Bar("reading")
    bar.next_s = 0.0
    bar(10_000_000, 20_000_000)
    bar.wipe()
    drawn = capsys.readouterr().err
    line = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", drawn)
    assert re.search(r"reading ━+.* +50% 10.0/20.0 MB", line), line
    assert drawn.endswith("\x1b[2K"), "the line is wiped"


def test_a_folder_of_an_aof_is_shown_like_its_manifest(tmp_path: Path, dump: Dump) -> None:
    write_aof(tmp_path, seal_all(*LOG), seal_all(LOG[0]))
    outs = []
    for name in (".", FOLDER, f"{FOLDER}/{NAME}.manifest"):
        assert dump("--json", tmp_path / name) == 0
        outs.append(dump.out)
    assert outs[0] == outs[1] == outs[2]
    assert len(outs[0].splitlines()) == 10
