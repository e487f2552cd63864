"""Snapshots and rewrites in child processes: when they start, and their results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay.errors import DiskError
from forebay.persistence.files import Disk
from forebay.server.durability import rewrite, save
from forebay.server.durability.full_writes import write_snapshot
from testkit.durable_server import DurableServer
from testkit.resp import ReplyError, encode
from testkit.waiting import wait_until

REWRITING = "Background append only file rewriting started"
SAVING = "Background saving started"


def manifest(folder: Path) -> list[str]:
    """The names in the manifest of the AOF."""
    text = (folder / "appendonlydir" / "appendonly.aof.manifest").read_text()
    return [line.split()[1] for line in text.splitlines() if line.startswith("file")]


# Snapshots


def test_a_snapshot_holds_the_data_of_the_moment_it_was_asked_for(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        data = encode("SET", "a", "1") + encode("BGSAVE") + encode("SET", "b", "same turn")
        client.ask(data)
        client("SET", "c", "later")
        server.finish_child()
        assert "Background saving terminated with success" in server.log()
    with DurableServer(tmp_path, appendonly=False) as server:
        assert server.client()("MGET", "a", "b", "c") == [b"1", b"same turn", None]


def test_info_tells_of_a_snapshot_under_way_and_of_its_end(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        assert server.info()["rdb_changes_since_last_save"] == "1"
        reply = client.ask(encode("BGSAVE") + encode("INFO", "persistence"))
        assert b"rdb_bgsave_in_progress:1\r\n" in reply
        server.clock.pass_ms(5000)
        server.finish_child()
        fields = server.info()
        assert fields["rdb_bgsave_in_progress"] == "0"
        assert fields["rdb_saves"] == "1"
        assert fields["rdb_changes_since_last_save"] == "0"
        assert fields["rdb_last_bgsave_status"] == "ok"
        assert int(fields["rdb_last_save_time"]) == server.clock.wall_ms // 1000
        assert client("LASTSAVE") == server.clock.wall_ms // 1000


def test_a_failed_snapshot_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SET", "a", "1")
        assert client("SAVE") == "OK"
        before = (tmp_path / "dump.rdb").read_bytes()
        client("SET", "a", "2")
        server.disk.write_fault = "No space left on device"
        assert client("BGSAVE") == SAVING
        server.finish_child()
        assert server.info()["rdb_last_bgsave_status"] == "err"
        assert "No space left on device" in str(client("SAVE"))
        assert (tmp_path / "dump.rdb").read_bytes() == before
        assert not list(tmp_path.glob("temp-*"))


def test_a_save_point_saves_when_both_its_numbers_are_reached(tmp_path: Path) -> None:
    with DurableServer(tmp_path, save_points=((10, 3),)) as server:
        client = server.client()
        for number in range(2):
            client("SET", "a", number)
        server.pass_s(12)
        assert not (tmp_path / "dump.rdb").exists()
        client("SET", "a", "3")
        server.turn()
        server.finish_child()
        assert (tmp_path / "dump.rdb").exists()
        assert "3 changes in 10 seconds. Saving..." in server.log()
        for number in range(10):
            client("SET", "a", number)
        server.pass_s(9)
        assert server.info()["rdb_saves"] == "1"


def test_what_was_flushed_does_not_come_back_from_an_old_snapshot(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False, save_points=((3600, 1),)) as server:
        client = server.client()
        client("SET", "a", "1")
        client("SAVE")
        client("FLUSHALL")
    with DurableServer(tmp_path, appendonly=False) as server:
        assert server.client()("DBSIZE") == 0


def test_a_child_that_saves_what_was_flushed_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_slowly(disk: Disk, path: str, *more: Any) -> int:
        wait_until("the child is stopped", lambda: False)
        return write_snapshot(disk, path, *more)

    with DurableServer(tmp_path, appendonly=False, save_points=((3600, 1),)) as server:
        client = server.client()
        client("SET", "a", "1")
        with monkeypatch.context() as patch:
            patch.setattr(save, "write_snapshot", write_slowly)
            assert client("BGSAVE") == SAVING
        client("FLUSHALL")
        assert server.info()["rdb_bgsave_in_progress"] == "0"
        assert server.info()["rdb_last_bgsave_status"] == "ok"
        assert not list(tmp_path.glob("temp-*"))
    with DurableServer(tmp_path, appendonly=False) as server:
        assert server.client()("DBSIZE") == 0


def test_a_flush_is_done_although_its_snapshot_cannot_be_written(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False, save_points=((3600, 1),)) as server:
        client = server.client()
        client("SET", "a", "1")
        server.disk.write_fault = "No space left on device"
        assert client("FLUSHALL") == "OK"
        assert client("DBSIZE") == 0
        assert server.info()["rdb_last_bgsave_status"] == "err"


def test_a_save_point_does_not_care_what_the_wall_clock_is_set_to(tmp_path: Path) -> None:
    with DurableServer(tmp_path, save_points=((10, 1),)) as server:
        server.client()("SET", "a", "1")
        server.clock.wall_ms += 86_400_000
        server.pass_s(5)
        assert not server.durability.job
        server.clock.wall_ms -= 2 * 86_400_000
        server.pass_s(6)
        server.finish_child()
        assert (tmp_path / "dump.rdb").exists()


def test_a_save_point_that_failed_refuses_writes_until_one_succeeds(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False, save_points=((5, 1),)) as server:
        client = server.client()
        client("SET", "a", "1")
        server.disk.write_fault = "No space left on device"
        server.pass_s(7)
        server.finish_child()
        refusal = client("SET", "a", "2")
        assert isinstance(refusal, ReplyError)
        assert str(refusal).startswith("MISCONF Redis is configured to save RDB snapshots")
        assert client("GET", "a") == b"1"
        assert client("CONFIG", "SET", "stop-writes-on-bgsave-error", "no") == "OK"
        assert client("SET", "a", "3") == "OK"
        client("CONFIG", "SET", "stop-writes-on-bgsave-error", "yes")
        assert isinstance(client("SET", "a", "4"), ReplyError)
        server.disk.write_fault = ""
        server.pass_until(lambda: server.info()["rdb_last_bgsave_status"] == "ok")
        assert client("SET", "a", "5") == "OK"


# Rewrites


def test_a_rewrite_under_writes_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """INCR shows it at once if a change is both in the base and in the increment."""
    with DurableServer(tmp_path) as server:
        client = server.client()
        data = encode("INCR", "n") + encode("BGREWRITEAOF") + encode("INCR", "n")
        client.ask(data)
        client("INCR", "n")
        server.finish_child()
        client("INCR", "n")
        assert manifest(tmp_path) == ["appendonly.aof.1.base.rdb", "appendonly.aof.2.incr.aof"]
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "n") == b"4"


def test_a_rewrite_inside_a_transaction_waits_for_its_end(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        words = ["MULTI", "INCR n", "BGREWRITEAOF", "INCR n", "EXEC"]
        answer = client.ask(b"".join(encode(*line.split()) for line in words))
        assert b"+Background append only file rewriting scheduled\r\n" in answer
        server.finish_child()
        client("INCR", "n")
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "n") == b"3"


def test_the_new_increment_says_which_database_it_is_for(tmp_path: Path) -> None:
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SELECT", "5")
        client("SET", "a", "1")
        client("BGREWRITEAOF")
        server.finish_child()
        client("SET", "b", "2")
    with DurableServer(tmp_path) as server:
        client = server.client()
        client("SELECT", "5")
        assert client("MGET", "a", "b") == [b"1", b"2"]


def test_the_base_is_made_of_commands_if_wanted(tmp_path: Path) -> None:
    with DurableServer(tmp_path, aof_use_rdb_preamble=False) as server:
        client = server.client()
        client("XADD", "s", "1-1", "f", "v")
        assert client("BGREWRITEAOF") == REWRITING
        server.finish_child()
        assert manifest(tmp_path)[0] == "appendonly.aof.1.base.aof"
        base = (tmp_path / "appendonlydir" / "appendonly.aof.1.base.aof").read_bytes()
        assert b"XADD" in base
    with DurableServer(tmp_path) as server:
        assert server.client()("XLEN", "s") == 1


def test_a_failed_rewrite_keeps_both_increments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise DiskError("base", "write", "No space left on device")

    with DurableServer(tmp_path) as server:
        client = server.client()
        client("INCR", "n")
        with monkeypatch.context() as patch:
            patch.setattr(rewrite, "write_snapshot", refuse)
            assert client("BGREWRITEAOF") == REWRITING
            client("INCR", "n")
            server.finish_child()
        assert server.info()["aof_last_bgrewrite_status"] == "err"
        assert manifest(tmp_path) == ["appendonly.aof.1.incr.aof", "appendonly.aof.2.incr.aof"]
        assert not list((tmp_path / "appendonlydir").glob("temp-*"))
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("INCR", "n") == 3
        assert client("BGREWRITEAOF") == REWRITING
        server.finish_child()
        client("INCR", "n")
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "n") == b"4"


def test_the_aof_is_rewritten_when_it_has_grown_enough(tmp_path: Path) -> None:
    settings = {"auto_aof_rewrite_min_size": 2000, "auto_aof_rewrite_percentage": 100}
    with DurableServer(tmp_path, **settings) as server:
        client = server.client()
        for _ in range(10):
            client("SET", "a", "x" * 50)
        server.finish_child()
        assert server.info()["aof_rewrites"] == "0"
        for _ in range(20):
            client("SET", "a", "x" * 50)
        server.finish_child()
        assert server.info()["aof_rewrites"] == "1"
        assert "Starting automatic rewriting of AOF on" in server.log()
        size = int(server.info()["aof_base_size"])
        assert size < 2000
        client("CONFIG", "SET", "auto-aof-rewrite-percentage", "0")
        for _ in range(40):
            client("SET", "a", "x" * 50)
        server.finish_child()
        assert server.info()["aof_rewrites"] == "1"
    with DurableServer(tmp_path) as server:
        assert server.client()("STRLEN", "a") == 50


def test_a_rewrite_works_although_the_aof_is_off(tmp_path: Path) -> None:
    with DurableServer(tmp_path, appendonly=False) as server:
        client = server.client()
        client("SET", "a", "1")
        assert client("BGREWRITEAOF") == REWRITING
        server.finish_child()
        client("SET", "a", "2")
        assert server.info()["aof_enabled"] == "0"
    with DurableServer(tmp_path) as server:
        assert server.client()("GET", "a") == b"1"


# One at a time


def test_what_cannot_start_now_is_scheduled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = tmp_path / "may_end"

    def write_when_told(disk: Disk, path: str, *more: Any) -> int:
        wait_until("the child may end", may_end.exists)
        return write_snapshot(disk, path, *more)

    for job in (save, rewrite):
        monkeypatch.setattr(job, "write_snapshot", write_when_told)
    with DurableServer(tmp_path) as server:
        client = server.client()
        assert client("BGSAVE") == SAVING
        assert client("BGSAVE") == ReplyError("ERR Background save already in progress")
        assert client("SAVE") == ReplyError("ERR Background save already in progress")
        scheduled = "Background append only file rewriting scheduled"
        assert client("BGREWRITEAOF") == scheduled
        assert server.info()["aof_rewrite_scheduled"] == "1"
        may_end.touch()
        server.durability.children.wait()
        may_end.unlink()
        server.turn()
        assert server.info()["aof_rewrite_in_progress"] == "1"
        already = "ERR Background append only file rewriting already in progress"
        assert client("BGREWRITEAOF") == ReplyError(already)
        assert str(client("BGSAVE")).startswith("ERR Another child process is active (AOF?)")
        assert client("BGSAVE", "SCHEDULE") == "Background saving scheduled"
        may_end.touch()
        server.finish_child()
        assert server.info()["rdb_saves"] == "2"
        assert server.info()["aof_rewrites"] == "1"
