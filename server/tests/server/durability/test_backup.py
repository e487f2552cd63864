"""BACKUP: states, replies, errors and files, as Redis 8.10 has them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testkit.oracle import start_redis
from testkit.resp import RawClient, ReplyError
from testkit.servers import ServerProcess, start_forebay
from testkit.waiting import wait_until

MakeForebay = Callable[..., ServerProcess]
DEBUG = ("--enable-debug-command", "yes")


def status(client: RawClient) -> dict[str, Any]:
    reply = client("BACKUP", "STATUS")
    values = [word.decode() if isinstance(word, bytes) else word for word in reply]
    return dict(zip(values[::2], values[1::2], strict=True))


def wait_for(client: RawClient, state: str) -> None:
    wait_until(f"the backup to be {state}", lambda: status(client)["state"] == state)


def started(client: RawClient) -> None:
    assert client("BACKUP", "START") == "OK"
    wait_for(client, "incrementing")


def names(client: RawClient) -> list[str]:
    return [Path(path.decode()).name for path in client("BACKUP", "LIST")]


def error(text: str) -> ReplyError:
    return ReplyError(f"ERR {text}")


@pytest.fixture(params=["yes", "no"])
def appendonly(request: pytest.FixtureRequest) -> str:
    value: str = request.param
    return value


@pytest.fixture
def server(make_forebay: MakeForebay, tmp_path: Path, appendonly: str) -> ServerProcess:
    return make_forebay("--dir", str(tmp_path), "--appendonly", appendonly, "--save", "", *DEBUG)


def folder_of(server: ServerProcess) -> Path:
    with server.client() as client:
        return Path(client("CONFIG", "GET", "dir")[1].decode()) / "backupdir"


def test_a_fresh_server_has_no_backup(server: ServerProcess) -> None:
    with server.client() as client:
        assert status(client) == {"state": "idle", "error": "", "start_time": 0, "end_time": 0}
        assert client("BACKUP", "LIST") == []
        assert client("BACKUP", "CLEANUP") == "OK"
        assert client("BACKUP", "ABORT") == error("No backup in progress")
        assert client("BACKUP", "SEAL") == error(
            "No backup ready to seal (must be in the incrementing state)"
        )
        assert b"backup_in_progress:0" in client("INFO", "persistence")
        assert client("BACKUP") == error("wrong number of arguments for 'backup' command")
        assert "START" in client("BACKUP", "HELP")
        client("HELLO", 3)
        assert client("BACKUP", "STATUS")[b"state"] == b"idle"


def test_from_start_to_cleanup(server: ServerProcess, appendonly: str) -> None:
    folder = folder_of(server)
    with server.client() as client:
        client("SET", "before", "1")
        before_s = int(time.time())
        started(client)
        assert names(client) == ["appendonly.aof.1.base.rdb"]
        assert b"backup_in_progress:1" in client("INFO", "persistence")
        assert client("BACKUP", "START") == error("A backup is already in progress, ABORT it first")
        assert client("BACKUP", "CLEANUP") == error("Backup is in progress")
        client("SET", "between", "2")
        assert client("BACKUP", "SEAL") == "OK"
        told = status(client)
        assert told["state"] == "sealed" and told["end_time"] >= told["start_time"] >= before_s
        assert client("BACKUP", "START") == error("A sealed backup exists, CLEANUP it first")
        base, increment, manifest = names(client)
        assert base.endswith(".base.rdb") and increment.endswith(".incr.aof")
        assert manifest == "appendonly.aof.manifest"
        assert sorted(path.name for path in folder.iterdir()) == sorted(names(client))
        size = (folder / increment).stat().st_size
        client("SET", "after", "3")
        assert (folder / increment).stat().st_size == size
        assert client("BACKUP", "CLEANUP") == "OK"
        assert status(client) == {"state": "idle", "error": "", "start_time": 0, "end_time": 0}
        assert list(folder.iterdir()) == []
        assert client("CONFIG", "GET", "appendonly") == [b"appendonly", appendonly.encode()]
        assert (folder.parent / "appendonlydir").exists() is (appendonly == "yes")
        started(client)


def test_abort_removes_what_there_was(server: ServerProcess) -> None:
    folder = folder_of(server)
    with server.client() as client:
        started(client)
        assert client("BACKUP", "ABORT") == "OK"
        told = status(client)
        assert (told["state"], told["error"]) == ("failed", "aborted by user")
        assert list(folder.iterdir()) == [] and client("BACKUP", "LIST") == []
        started(client)
        assert status(client)["error"] == ""


def test_files_that_are_there_are_not_touched(server: ServerProcess) -> None:
    folder = folder_of(server)
    folder.mkdir()
    (folder / "stranger").write_text("mine")
    with server.client() as client:
        reply = client("BACKUP", "START")
        assert "not empty" in reply.args[0]
        assert status(client)["state"] == "idle"
    assert (folder / "stranger").read_text() == "mine"


def test_a_rewrite_waits_for_the_seal(server: ServerProcess) -> None:
    with server.client() as client:
        client("SET", "k", "v")
        started(client)
        assert "scheduled" in client("BGREWRITEAOF")
        assert b"aof_rewrite_scheduled:1" in client("INFO", "persistence")
        assert client("BACKUP", "SEAL") == "OK"
        wait_until("the rewrite", lambda: b"aof_rewrites:2" in client("INFO", "persistence"))


def test_a_transaction_is_never_cut_in_two(server: ServerProcess, tmp_path: Path) -> None:
    with server.client() as client:
        for words in (["MULTI"], ["SET", "a", "1"], ["BACKUP", "START"], ["SET", "b", "2"]):
            client(*words)
        assert client("EXEC") == ["OK", "OK", "OK"]
        wait_for(client, "incrementing")
        for words in (["MULTI"], ["SET", "c", "3"], ["BACKUP", "SEAL"], ["SET", "d", "4"]):
            client(*words)
        assert client("EXEC") == ["OK", "OK", "OK"]
        wait_for(client, "sealed")
        client("SET", "e", "5")
        assert restored(folder_of(server), tmp_path / "copy") == {b"a", b"b", b"c", b"d"}


def restored(folder: Path, place: Path) -> set[bytes]:
    """The keys that a fresh server finds in a backup."""
    manifest = folder / "appendonly.aof.manifest"
    server = start_forebay(place, "--dir", str(place), "--preload-file", f"aof:{manifest}")
    try:
        with server.client() as client:
            return set(client("KEYS", "*"))
    finally:
        server.stop()


def test_a_sealed_backup_goes_when_its_time_is_up(server: ServerProcess) -> None:
    folder = folder_of(server)
    with server.client() as client:
        started(client)
        client("BACKUP", "SEAL")
        client("CONFIG", "SET", "backup-sealed-ttl", 1)
        wait_for(client, "idle")
    assert list(folder.iterdir()) == []


def test_without_an_aof_there_is_no_backup_any_more(
    make_forebay: MakeForebay, tmp_path: Path
) -> None:
    server = make_forebay("--dir", str(tmp_path), "--appendonly", "yes", "--save", "")
    with server.client() as client:
        started(client)
        client("CONFIG", "SET", "appendonly", "no")
        told = status(client)
        assert (told["state"], told["error"]) == ("failed", "appendonly is stopped")


def test_an_aof_that_is_turned_on_meanwhile_stays(
    make_forebay: MakeForebay, tmp_path: Path
) -> None:
    server = make_forebay("--dir", str(tmp_path), "--appendonly", "no", "--save", "")
    with server.client() as client:
        client("SET", "k", "v")
        started(client)
        client("CONFIG", "SET", "appendonly", "yes")
        assert client("BACKUP", "SEAL") == "OK"
        assert client("BACKUP", "CLEANUP") == "OK"
        assert b"aof_enabled:1" in client("INFO", "persistence")
    assert (tmp_path / "appendonlydir" / "appendonly.aof.manifest").exists()


def test_an_aof_that_lay_there_before_stays(make_forebay: MakeForebay, tmp_path: Path) -> None:
    (tmp_path / "appendonlydir").mkdir()
    (tmp_path / "appendonlydir" / "stale.aof").write_text("mine")
    server = make_forebay("--dir", str(tmp_path), "--appendonly", "no", "--save", "")
    with server.client() as client:
        started(client)
        assert client("BACKUP", "SEAL") == "OK"
        assert client("BACKUP", "CLEANUP") == "OK"
    assert (tmp_path / "appendonlydir" / "stale.aof").read_text() == "mine"


def test_data_that_is_replaced_ends_the_backup(server: ServerProcess) -> None:
    with server.client() as client:
        client("SET", "k", "v")
        client("SAVE")
        started(client)
        client("DEBUG", "RELOAD", "NOSAVE")
        assert (
            isinstance(client("BACKUP", "SEAL"), ReplyError) or status(client)["state"] == "failed"
        )


@pytest.mark.parametrize("directive", ["aof:/tmp/foo", "rdb:/tmp/foo", "zip:/tmp/foo.rdb", "rdb:"])
def test_a_preload_file_that_cannot_be_one_is_refused(directive: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="preload-file"):
        start_forebay(tmp_path, "--preload-file", directive)


def test_a_backup_folder_is_a_name_and_no_path(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="backupdirname can't be a path"):
        start_forebay(tmp_path, "--backupdirname", "/tmp/elsewhere")


def test_a_snapshot_can_be_preloaded_and_becomes_our_aof(
    make_forebay: MakeForebay, tmp_path: Path
) -> None:
    source = make_forebay("--dir", str(tmp_path / "a"), "--save", "")
    with source.client() as client:
        client("XADD", "s", "1-1", "f", "v")
        client("SAVE")
    place = tmp_path / "b"
    words = ("--dir", str(place), "--save", "")
    once = start_forebay(place, *words, "--preload-file", f"rdb:{tmp_path}/a/dump.rdb")
    with once.client() as client:
        client("XADD", "s", "2-1", "f", "v")
    once.kill()
    again = start_forebay(place, *words)
    with again.client() as client:
        assert client("XLEN", "s") == 2
    again.stop()


@pytest.mark.oracle
def test_a_sealed_backup_is_read_by_redis(server: ServerProcess, tmp_path: Path) -> None:
    with server.client() as client:
        client("XADD", "s", "1-1", "f", "v")
        client("XGROUP", "CREATE", "s", "g", "0")
        started(client)
        client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
        client("SELECT", 3)
        client("SET", "k", "v")
        digest = client("DEBUG", "DIGEST")
        assert client("BACKUP", "SEAL") == "OK"
        client("SET", "later", "v")
        place = tmp_path / "redis"
        place.mkdir()
        folder_of(server).rename(place / "appendonlydir")
    redis = start_redis(place, "--appendonly", "yes")
    with redis.client() as client:
        assert client("DEBUG", "DIGEST") == digest
    redis.stop()
