"""The AOF while the server runs: acknowledged changes are written, and what happens if the disk
refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.errors import ConfigError
from forebay.server.process import Halt
from testkit.durable_server import CLOSED, DurableServer
from testkit.resp import ReplyError, encode
from testkit.servers import start_forebay

POLICIES = ["always", "everysec", "no"]
MISCONF = ReplyError("MISCONF Errors writing to the AOF file: No space left on device")


@pytest.mark.parametrize("policy", POLICIES)
def test_what_was_acknowledged_is_there_after_the_process_was_killed(
    tmp_path: Path, policy: str
) -> None:
    with DurableServer(tmp_path, appendfsync=policy) as server:
        client = server.client()
        for number in range(20):
            client("XADD", "s", f"{number + 1}-0", "f", number)
        client("XGROUP", "CREATE", "s", "g", "0")
        client("XREADGROUP", "GROUP", "g", "me", "COUNT", "7", "STREAMS", "s", ">")
        client("SELECT", "3")
        client("SET", "k", "v")
    with DurableServer(tmp_path, appendfsync=policy) as server:
        client = server.client()
        assert client("XLEN", "s") == 20
        assert client("XPENDING", "s", "g")[0] == 7
        client("SELECT", "3")
        assert client("GET", "k") == b"v"


def test_what_was_flushed_stays_gone_after_the_process_was_killed(tmp_path: Path) -> None:
    options = "--appendonly", "no", "--save", "3600 1000", "--dir", str(tmp_path)
    server = start_forebay(tmp_path, *options)
    try:
        with server.client() as client:
            client("SET", "a", "1")
            assert client("SAVE") == "OK"
            assert client("FLUSHALL") == "OK"
        server.kill()
        server = start_forebay(tmp_path, *options)
        with server.client() as client:
            assert client("DBSIZE") == 0
    finally:
        server.kill()


def test_a_reply_leaves_only_when_its_record_is_in_the_file(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendfsync="no") as server:
        client = server.client()
        client("XADD", "s", "1-1", "field", "first-value")
        assert b"first-value" in Path(server.durability.live.aof.path).read_bytes()  # type: ignore[union-attr]


def test_with_always_a_turn_of_many_writes_is_synced_once_before_its_replies(
    tmp_path: Path,
) -> None:
    with DurableServer(tmp_path, appendfsync="always") as server:
        client = server.client()
        before = server.disk.syncs
        assert client.ask(encode("SET", "a", "1") * 30) == b"+OK\r\n" * 30
        assert server.disk.syncs == before + 1


def test_a_turn_that_only_reads_does_not_touch_the_aof(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendfsync="always") as server:
        client = server.client()
        client("SET", "a", "1")
        before, aof = server.disk.syncs, server.durability.live.aof
        assert aof is not None
        size = aof.current_size
        for words in (["GET", "a"], ["PING"], ["XLEN", "none"], ["DEL", "none"]):
            client(*words)
        assert (server.disk.syncs, aof.current_size) == (before, size)


def test_everysec_syncs_once_a_second_and_only_if_something_was_written(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        server.pass_s(2)
        before = server.disk.syncs
        server.pass_s(3)
        assert server.disk.syncs == before
        for _ in range(3):
            client("SET", "a", "1")
            assert int(server.info()["aof_unsynced_bytes"]) > 0
            server.pass_s(1.1)
        assert server.disk.syncs == before + 3
        assert server.info()["aof_unsynced_bytes"] == "0"
        assert server.info()["aof_last_fsync_age_ms"] == "0"


# The disk refuses


@pytest.mark.parametrize("policy", ["everysec", "no"])
def test_a_failed_write_is_never_acknowledged_and_is_made_good_later(
    tmp_path: Path, policy: str
) -> None:
    with DurableServer(tmp_path, appendfsync=policy) as server:
        writer, reader = server.client(), server.client()
        assert writer("SET", "a", "before") == "OK"
        server.disk.write_fault = "No space left on device"
        assert writer("SET", "a", "lost?") is CLOSED
        other = server.client()
        assert other("SET", "b", "1") == MISCONF
        assert other("PING") == MISCONF
        assert reader("GET", "a") == b"lost?"
        assert server.info()["aof_last_write_status"] == "err"
        assert "No space left" in server.info()["aof_last_error"]
        server.pass_s(2)
        assert other("SET", "b", "1") == MISCONF
        server.disk.write_fault = ""
        server.pass_s(1.1)
        assert other("SET", "b", "2") == "OK"
        assert server.info()["aof_last_write_status"] == "ok"
        assert "looks solved" in server.log()
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("GET", "a") == b"lost?"
        assert client("GET", "b") == b"2"


def test_a_failed_write_spares_clients_who_are_owed_nothing(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        writer, idle = server.client(), server.client()
        waiting = server.client()
        assert waiting("XREAD", "BLOCK", "0", "STREAMS", "s", "$") is None
        server.disk.write_fault = "Input/output error"
        assert writer("SET", "a", "1") is CLOSED
        assert idle("GET", "a") == b"1"
        server.disk.write_fault = ""
        server.pass_s(1.1)
        assert idle("XADD", "s", "1-1", "f", "v") == b"1-1"
        assert waiting.read() is not None


def test_a_reader_that_a_failed_write_woke_is_not_answered_either(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        writer, waiting = server.client(), server.client()
        assert waiting("XREAD", "BLOCK", "0", "STREAMS", "s", "$") is None
        server.disk.write_fault = "Input/output error"
        assert writer("XADD", "s", "1-1", "f", "v") is CLOSED
        assert waiting.answer() == b""


@pytest.mark.parametrize("what", ["write_fault", "sync_fault"])
def test_with_always_a_disk_that_refuses_ends_the_server_without_a_reply(
    tmp_path: Path, what: str
) -> None:
    with DurableServer(tmp_path, appendfsync="always") as server:
        client = server.client()
        setattr(server.disk, what, "Input/output error")
        with pytest.raises(Halt):
            client("SET", "a", "1")
        assert client.answer() == b"(nothing)"
        assert "Can't recover" in server.log()


def test_after_a_failed_sync_writes_are_refused_until_all_data_was_written_anew(
    tmp_path: Path,
) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        server.disk.sync_fault = "Input/output error"
        server.pass_s(1.1)
        refused = ReplyError("MISCONF Errors writing to the AOF file: Input/output error")
        assert client("SET", "a", "2") == refused
        assert client("GET", "a") == b"1"
        # A later successful sync proves nothing; only the automatic rewrite does.
        assert client("WAITAOF", "1", "0", "100") is None
        server.disk.sync_fault = ""
        server.pass_s(0.3)
        assert client.read() == [0, 0]
        server.pass_until(lambda: not server.durability.live.trouble)
        assert client("SET", "a", "3") == "OK"
        assert server.info()["aof_last_write_status"] == "ok"
        assert server.info()["aof_rewrites"] == "1"
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"3"


def test_a_rewrite_also_heals_an_aof_that_cannot_be_written(tmp_path: Path) -> None:
    """The units that never reached the old file are in the new base."""
    with DurableServer(tmp_path) as server:
        client = server.client()
        server.disk.write_fault = "No space left on device"
        client("SET", "a", "1")
        server.disk.write_fault = ""
        other = server.client()
        assert other("BGREWRITEAOF") == "Background append only file rewriting started"
        server.finish_child()
        assert other("SET", "b", "2") == "OK"
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("MGET", "a", "b") == [b"1", b"2"]


# The policy changes


def test_a_change_to_always_syncs_what_was_promised_less(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendfsync="no") as server:
        client = server.client()
        client("SET", "a", "1")
        assert int(server.info()["aof_unsynced_bytes"]) > 0
        assert client("CONFIG", "SET", "appendfsync", "always") == "OK"
        assert server.info()["aof_unsynced_bytes"] == "0"


def test_the_aof_can_be_turned_off_and_on(tmp_path: Path) -> None:
    with DurableServer(tmp_path, enable_debug_command="yes") as server:
        client = server.client()
        client("SET", "a", "logged")
        assert client("CONFIG", "SET", "appendonly", "no") == "OK"
        assert server.info()["aof_enabled"] == "0"
        client("SET", "b", "not logged")
        assert client("CONFIG", "SET", "appendonly", "yes") == "OK"
        client("SET", "c", "during the rewrite")
        server.finish_child()
        client("SET", "d", "logged again")
        digest = client("DEBUG", "DIGEST")
    with DurableServer(tmp_path, enable_debug_command="yes") as server:
        assert server.client()("DEBUG", "DIGEST") == digest


def test_an_aof_that_was_turned_off_holds_all_until_then(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendfsync="no") as server:
        client = server.client()
        data = encode("MULTI") + encode("SET", "a", "1")
        data += encode("CONFIG", "SET", "appendonly", "no") + encode("SET", "b", "2")
        client.ask(data + encode("EXEC"))
        client("SET", "c", "3")
    with DurableServer(tmp_path) as server:
        assert server.client()("MGET", "a", "b", "c") == [b"1", b"2", None]


def test_an_aof_that_was_never_on_can_be_turned_on(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        client("RPUSH", "l", "x", "y")
        assert not (tmp_path / "appendonlydir").exists()
        assert client("CONFIG", "SET", "appendonly", "yes") == "OK"
        server.finish_child()
        client("RPUSH", "l", "z")
    with DurableServer(tmp_path) as server:
        assert server.client()("LRANGE", "l", "0", "-1") == [b"x", b"y", b"z"]


def test_if_the_first_rewrite_fails_it_is_tried_again(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        client("SET", "a", "1")
        server.disk.write_fault = "No space left on device"
        client("CONFIG", "SET", "appendonly", "yes")
        server.finish_child()
        assert server.info()["aof_last_bgrewrite_status"] == "err"
        server.disk.write_fault = ""
        server.pass_until(lambda: server.info()["aof_last_bgrewrite_status"] == "ok")
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"1"


def test_who_waits_for_an_aof_that_is_not_whole_yet_is_told_when_it_is(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        words = [["CONFIG", "SET", "appendonly", "yes"], ["SET", "a", "1"]]
        client.ask(b"".join(encode(*line) for line in [*words, ["WAITAOF", "1", "0", "0"]]))
        syncs = server.disk.syncs
        for _ in range(50):
            server.turn()
            server.durability.syncer.finish()
        # A few syncs to adopt the child's file; not one in each turn.
        assert server.disk.syncs < syncs + 25
        server.finish_child()
        server.pass_s(1.1)
        assert client.read() == [1, 0]


# The directory


def test_a_second_server_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    with (
        DurableServer(tmp_path),
        pytest.raises(ConfigError, match=r"is used by another server \(pid \d+\)"),
    ):
        DurableServer(tmp_path)


def test_two_servers_that_keep_nothing_may_share_a_directory(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False), DurableServer(tmp_path, appendonly=False):
        assert not (tmp_path / "forebay.lock").exists()


def test_a_directory_that_is_not_there_is_made_and_the_log_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    with DurableServer(folder) as server:
        assert f"The directory {folder} was missing and has been made" in server.log()
        assert server.client()("SET", "a", "1") == "OK"
    with DurableServer(folder) as server:
        assert "was missing" not in server.log().split("made\n", 1)[1]
        assert server.client()("GET", "a") == b"1"


def test_a_directory_that_cannot_be_made_is_named_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot make the folder .*/file.*--dir.*--appendonly"):
        DurableServer(tmp_path / "file" / "data")


def test_a_policy_that_evicts_is_warned_of_when_it_is_set(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("CONFIG", "SET", "maxmemory-policy", "allkeys-lru") == "OK"
        assert "NOTHING IS EVICTED" not in server.log()
        assert client("CONFIG", "SET", "maxmemory", "1gb") == "OK"
        assert server.log().count("NOTHING IS EVICTED") == 1
        assert client("CONFIG", "SET", "maxmemory-policy", "volatile-ttl") == "OK"
        assert "although maxmemory-policy is volatile-ttl" in server.log()


def test_temporary_files_of_a_server_that_died_are_removed_at_start(tmp_path: Path) -> None:
    (tmp_path / "appendonlydir").mkdir()
    stale = [tmp_path / "temp-save-1.rdb", tmp_path / "appendonlydir" / "temp-rewrite-1.rdb"]
    for path in stale:
        path.write_text("half a file")
    with DurableServer(tmp_path):
        assert not any(path.exists() for path in stale)


def test_the_directory_cannot_be_changed_under_the_aof(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with DurableServer(tmp_path, enable_protected_configs="yes") as server:
        client = server.client()
        reply = client("CONFIG", "SET", "dir", str(tmp_path / "other"))
        assert "set appendonly to no first" in str(reply)
        client("CONFIG", "SET", "appendonly", "no")
        assert client("CONFIG", "SET", "dir", str(tmp_path / "other")) == "OK"
        assert "No such file" in str(client("CONFIG", "SET", "dir", str(tmp_path / "none")))
        assert client("SAVE") == "OK"
        assert (tmp_path / "other" / "dump.rdb").exists()
