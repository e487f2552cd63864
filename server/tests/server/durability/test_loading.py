"""The start: which files are loaded, the answers to clients meanwhile, and files that cannot be
loaded."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.cli.main import main
from forebay.commands.api import notify_flags
from forebay.persistence.files import ReadFile
from forebay.server.process import Halt
from testkit.durable_server import DurableServer, FaultyDisk
from testkit.rdb_files import sealed
from testkit.resp import ReplyError, encode
from testkit.servers import environment, free_port, start_forebay

LOADING = ReplyError("LOADING Redis is loading the dataset in memory")


def increment(folder: Path) -> Path:
    """The only increment of the AOF."""
    (path,) = (folder / "appendonlydir").glob("*.incr.aof")
    return path


def test_clients_hear_that_the_server_is_loading_until_it_has_loaded(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        server.client()("SET", "a", "1")
    with DurableServer(tmp_path, ready=False) as server:
        client = server.client()
        assert client.ask(encode("GET", "a") + encode("PING")) == (
            b"-LOADING Redis is loading the dataset in memory\r\n" * 2
        )
        assert server.is_ready
        assert client("GET", "a") == b"1"


def test_commands_that_may_run_while_loading_do(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        server.client()("SET", "a", "1")
    with DurableServer(tmp_path, ready=False) as server:
        client = server.client()
        data = encode("INFO", "persistence") + encode("CONFIG", "GET", "dbfilename")
        answer = client.ask(data + encode("CLIENT", "GETNAME"))
        assert b"\r\nloading:1\r\n" in answer
        for field in ("start_time", "total_bytes", "loaded_bytes", "loaded_perc", "eta_seconds"):
            assert f"\r\nloading_{field}:".encode() in answer
        assert b"dump.rdb" in answer
        assert server.info()["loading"] == "0"
        assert "loading_total_bytes" not in server.info()


def test_settings_of_the_files_cannot_be_changed_while_loading(tmp_path: Path) -> None:
    with DurableServer(tmp_path, ready=False) as server:
        reply = server.client()("CONFIG", "SET", "appendonly", "no")
        assert "while the data is being loaded" in str(reply)
        assert server.settings.appendonly


def test_keys_past_their_time_are_gone_after_loading_and_the_aof_says_so(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "short", "1", "PX", "50")
        client("SET", "long", "1", "EX", "100")
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("DBSIZE") == 2
        server.pass_s(1)
        assert client("DBSIZE") == 1
        assert client("TTL", "long") == 99


# Loaded files


def test_without_the_aof_the_snapshot_is_loaded(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        client("SET", "a", "1")
        client("SAVE")
        client("SET", "a", "2")
    with DurableServer(tmp_path, appendonly=False) as server:
        assert server.client()("GET", "a") == b"1"
        assert server.info()["rdb_last_load_keys_loaded"] == "1"


def test_the_aof_wins_over_the_snapshot(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "old")
        client("SAVE")
        client("SET", "a", "new")
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"new"


def test_with_the_aof_on_and_no_aof_there_the_snapshot_becomes_its_beginning(
    tmp_path: Path,
) -> None:
    """Redis would start empty, and the data would seem lost after a switch from snapshots."""
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        client("XADD", "s", "1-1", "f", "v")
        client("SAVE")
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("XADD", "s", "2-1", "f", "v") == b"2-1"
        assert "became its beginning" in server.log()
    (tmp_path / "dump.rdb").unlink()
    with DurableServer(tmp_path) as server:
        assert server.client()("XLEN", "s") == 2


def test_an_aof_in_one_file_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "appendonly.aof").write_bytes(encode("SELECT", "0") + encode("SET", "a", "1"))
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("GET", "a") == b"1"
        client("SET", "b", "2")
    with DurableServer(tmp_path) as server:
        assert server.client()("MGET", "a", "b") == [b"1", b"2"]


def test_a_snapshot_with_commands_behind_it_in_one_file_is_taken_over(tmp_path: Path) -> None:
    """As Redis before version 7 wrote it."""
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        client("SET", "a", "1")
        client("SAVE")
    snapshot = (tmp_path / "dump.rdb").read_bytes()
    (tmp_path / "appendonly.aof").write_bytes(snapshot + encode("SET", "b", "2"))
    with DurableServer(tmp_path) as server:
        assert server.client()("MGET", "a", "b") == [b"1", b"2"]


# Files that cannot be loaded


def refusal(folder: Path, **settings: object) -> str:
    """Why a server does not start."""
    with pytest.raises(Halt) as halt:
        DurableServer(folder, **settings)
    return str(halt.value.code)


def test_a_flip_in_the_middle_of_the_aof_stops_the_start_and_changes_nothing(
    tmp_path: Path,
) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        for number in range(50):
            client("SET", f"key{number}", "value")
        server.pass_s(2)
        client("SET", "last", "value")
    path = increment(tmp_path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    text = refusal(tmp_path)
    assert str(path) in text
    assert "offset" in text
    assert path.read_bytes() == data
    command = shlex.split(text[text.index("forebay check") :])
    assert main(command[1:]) == 0
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "key0") == b"value"


def test_a_torn_tail_is_cut_and_kept_and_the_rest_is_served(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        client("SET", "b", "2")
    path = increment(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("MGET", "a", "b") == [b"1", None]
        client("SET", "c", "3")
        assert list(path.parent.glob("*.corrupt-*"))
    with DurableServer(tmp_path) as server:
        assert server.client()("MGET", "a", "b", "c") == [b"1", None, b"3"]


def test_a_command_that_is_not_known_here_is_named_or_left_out(tmp_path: Path) -> None:
    good, bad = encode("SET", "a", "1"), encode("HSET", "h", "f", "v")
    (tmp_path / "appendonly.aof").write_bytes(good + bad + encode("SET", "b", "2"))
    text = refusal(tmp_path)
    assert "'HSET h f v'" in text
    assert f"offset {len(good)}" in text
    assert "skip-foreign-types" in text
    with DurableServer(tmp_path, skip_foreign_types=True) as server:
        assert server.client()("MGET", "a", "b") == [b"1", b"2"]
        assert "1 x HSET" in server.log()


@pytest.mark.parametrize("line", ["SET a 2 NOSUCH", "LTRIM", "NOSUCH a", "XADD a 1-1 f v"])
@pytest.mark.parametrize("skip", [False, True])
def test_a_command_of_the_aof_that_cannot_be_run_stops_the_start(
    tmp_path: Path, line: str, skip: bool
) -> None:
    """Redis ran it, so without it the data would be wrong."""
    good, bad = encode("SET", "a", "1"), encode(*line.split())
    path = tmp_path / "appendonly.aof"
    path.write_bytes(good + bad + encode("SET", "b", "2"))
    text = refusal(tmp_path, skip_foreign_types=skip)
    assert f"nothing was changed: {path}, offset {len(good)}: the command '{line}' " in text
    assert path.read_bytes() == good + bad + encode("SET", "b", "2")
    assert not (tmp_path / "appendonlydir").exists()


def test_a_foreign_value_that_was_restored_is_refused_or_left_out(tmp_path: Path) -> None:
    bad = encode("RESTORE", "h", "0", sealed(b"\x04\x01\x01f\x01v"))
    (tmp_path / "appendonly.aof").write_bytes(encode("SET", "a", "1") + bad)
    assert "'RESTORE h 0 " in refusal(tmp_path)
    with DurableServer(tmp_path, skip_foreign_types=True) as server:
        assert server.client()("KEYS", "*") == [b"a"]
        assert "1 x RESTORE" in server.log()


def test_a_file_with_the_name_of_an_aof_that_is_none_is_refused_and_left_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "appendonly.aof"
    path.write_bytes(b"# Notes\n")
    assert f"{path} is not an AOF: its first bytes are no record, at offset 0" in refusal(tmp_path)
    assert path.read_bytes() == b"# Notes\n"


@pytest.mark.parametrize("content", [b"", b"REDIS", b"REDIS0099" + bytes(20), b"#!/bin/sh\n"])
def test_a_snapshot_that_is_none_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "dump.rdb").write_bytes(content)
    text = refusal(tmp_path, appendonly=False)
    assert str(tmp_path / "dump.rdb") in text
    assert (tmp_path / "dump.rdb").read_bytes() == content


# The process


def serve(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A server that ends by itself."""
    command = [sys.executable, "-m", "forebay", "serve", "--port", str(free_port()), *words]
    return subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=60
    )


class StumblingDisk(FaultyDisk):
    """A disk whose files fail with an unexpected exception."""

    def open_read(self, path: str) -> ReadFile:
        raise RuntimeError("a defect")


def test_a_defect_while_loading_ends_the_start_instead_of_serving_half_of_the_data(
    tmp_path: Path,
) -> None:
    with DurableServer(tmp_path) as server:
        server.client()("SET", "a", "1")
        server.client()("SAVE")
    with pytest.raises(Halt, match="the data could not be loaded: RuntimeError: a defect"):
        DurableServer(tmp_path, disk=StumblingDisk(), appendonly=False, save_points=((1, 1),))


def test_a_process_that_cannot_load_says_why_on_stderr_and_ends_with_1(tmp_path: Path) -> None:
    (tmp_path / "dump.rdb").write_bytes(b"not a snapshot")
    ended = serve(tmp_path, "--appendonly", "no")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("forebay: Cannot load the data")
    assert "dump.rdb" in line
    assert "offset" in line


def test_a_process_in_a_directory_that_is_taken_ends_with_1(tmp_path: Path, scratch: Path) -> None:
    server = start_forebay(scratch)
    try:
        ended = serve(server.directory)
        assert ended.returncode == 1
        assert f"is used by another server (pid {server.pid})" in ended.stderr
    finally:
        server.stop()


# Again, while the server runs


def test_loadaof_takes_all_data_from_the_aof(tmp_path: Path) -> None:
    with DurableServer(tmp_path, enable_debug_command="yes", appendfsync="no") as server:
        client = server.client()
        client("SELECT", "2")
        client("XADD", "s", "1-1", "f", "v")
        digest = client("DEBUG", "DIGEST")
        assert client("DEBUG", "LOADAOF") == "OK"
        assert client("DEBUG", "DIGEST") == digest
        assert client("XADD", "s", "2-1", "f", "v") == b"2-1"
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SELECT", "2")
        assert client("XLEN", "s") == 2


def test_loadaof_does_not_forget_the_data_if_there_is_no_aof(tmp_path: Path) -> None:
    with DurableServer(tmp_path, enable_debug_command="yes", appendonly=False) as server:
        client = server.client()
        client("SET", "a", "1")
        assert client("DEBUG", "LOADAOF") == ReplyError("ERR There is no AOF that fits the data")
        assert client("GET", "a") == b"1"


def test_data_that_a_reload_brought_in_is_brought_into_the_aof(tmp_path: Path) -> None:
    with DurableServer(tmp_path, enable_debug_command="yes") as server:
        client = server.client()
        client("SET", "a", "saved")
        client("SAVE")
        client("SET", "a", "changed")
        assert client("DEBUG", "RELOAD", "NOSAVE") == "OK"
        server.finish_child()
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"saved"


def test_keyspace_events_are_not_sent_for_what_is_loaded(tmp_path: Path) -> None:
    settings = {"enable_debug_command": "yes", "notify_flags": notify_flags.parse("KEA")}
    with DurableServer(tmp_path, **settings) as server:  # type: ignore[arg-type]
        client, listener = server.client(), server.client()
        client("SET", "a", "1")
        listener("PSUBSCRIBE", "*")
        client("DEBUG", "LOADAOF")
        assert listener.read() is None
        client("SET", "a", "2")
        assert b"__keyspace@0__:a" in listener.answer()
