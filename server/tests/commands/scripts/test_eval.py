"""EVAL, EVALSHA and SCRIPT: the scripts of redis-py's Lock, and a clear error for all others."""

from __future__ import annotations

from hashlib import sha1
from typing import Any

import pytest
from redis.lock import Lock

from forebay.commands.table import TABLE
from server.tests.support.admin_client import AdminClient
from testkit.engine_client import EngineClient, ReplyError

RELEASE = Lock.LUA_RELEASE_SCRIPT
EXTEND = Lock.LUA_EXTEND_SCRIPT
REACQUIRE = Lock.LUA_REACQUIRE_SCRIPT
SHA = {text: sha1(text.encode()).hexdigest() for text in (RELEASE, EXTEND, REACQUIRE)}
UNKNOWN = "return redis.call('xlen', KEYS[1])"
NOSCRIPT = ReplyError("NOSCRIPT No matching script. Please use EVAL.")


def loaded() -> EngineClient:
    """A client at a server that has the three scripts of a Lock."""
    client = EngineClient()
    for text, name in SHA.items():
        assert client("SCRIPT", "LOAD", text) == name.encode()
    client.effects()
    return client


# Loading


def test_a_script_is_there_from_load_to_flush() -> None:
    client = EngineClient()
    names = [SHA[RELEASE], SHA[RELEASE].upper(), SHA[EXTEND]]
    assert client("SCRIPT", "EXISTS", *names) == [0, 0, 0]
    assert client("EVALSHA", SHA[RELEASE], 1, "k", "me") == NOSCRIPT
    client("SCRIPT", "LOAD", RELEASE)
    assert client("SCRIPT", "EXISTS", *names) == [1, 1, 0]
    assert client("EVALSHA", SHA[RELEASE].upper(), 1, "k", "me") == 0
    assert client("SCRIPT", "FLUSH", "ASYNC") == "OK"
    assert client("EVALSHA", SHA[RELEASE], 1, "k", "me") == NOSCRIPT


def test_eval_loads_what_it_runs() -> None:
    client = EngineClient()
    assert client("EVAL", EXTEND, 1, "k", "me", 1, 0) == 0
    assert client("EVALSHA", SHA[EXTEND], 1, "k", "me", 1, 0) == 0


@pytest.mark.parametrize("call", [("SCRIPT", "LOAD", UNKNOWN), ("EVAL", UNKNOWN, 1, "s")])
def test_an_unknown_script_is_refused_by_name(call: tuple[Any, ...]) -> None:
    client = EngineClient()
    reply = client(*call)
    name = sha1(UNKNOWN.encode()).hexdigest()
    assert isinstance(reply, ReplyError)
    assert str(reply).startswith(f"ERR script {name} is not supported")
    assert client("SCRIPT", "EXISTS", name) == [0]
    assert client("EVALSHA", name, 1, "s") == NOSCRIPT


def test_one_blank_more_makes_another_script() -> None:
    assert "not supported" in str(EngineClient()("EVAL", RELEASE + " ", 1, "k", "me"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("SCRIPT KILL", "NOTBUSY No scripts in execution right now."),
        ("SCRIPT DEBUG maybe", "ERR Use SCRIPT DEBUG YES/SYNC/NO"),
        ("SCRIPT DEBUG YES", "ERR there is no debugger for scripts in this server"),
        ("SCRIPT FLUSH NOW", "ERR SCRIPT FLUSH only support SYNC|ASYNC option"),
        ("SCRIPT FLUSH SYNC SYNC", "ERR SCRIPT FLUSH only support SYNC|ASYNC option"),
        ("EVALSHA x y", "ERR value is not an integer or out of range"),
        ("EVALSHA x -1", "ERR Number of keys can't be negative"),
        ("EVALSHA_RO x 2 k", "ERR Number of keys can't be greater than number of args"),
        ("EVAL_RO text", "ERR wrong number of arguments for 'eval_ro' command"),
    ],
)
def test_mistakes_are_answered_in_the_words_of_redis(words: str, text: str) -> None:
    assert EngineClient()(words) == ReplyError(text)


def test_there_is_no_debugger_to_leave() -> None:
    assert EngineClient()("SCRIPT DEBUG NO") == "OK"


def test_where_the_keys_of_a_script_stand() -> None:
    client = EngineClient()
    assert client("COMMAND", "GETKEYS", "EVAL", "text", 2, "a", "b", "c") == [b"a", b"b"]
    for count in ("0", "9", "x"):
        assert client("COMMAND", "GETKEYS", "EVALSHA", "sha", count, "a") == []
    (row,) = client("COMMAND", "INFO", "evalsha_ro")
    flags = "readonly noscript stale skip_monitor no_mandatory_keys movablekeys"
    assert sorted(row[2]) == sorted(flags.split())
    (spec,) = row[8]
    assert spec[:2] == [b"flags", ["RO", "access"]]
    assert spec[3] == [b"type", b"index", b"spec", [b"index", 2]]
    keynum = [b"keynumidx", 0, b"firstkey", 1, b"keystep", 1]
    assert spec[5] == [b"type", b"keynum", b"spec", keynum]


# The effects of a script


def test_what_a_script_did_is_recorded_as_plain_commands_with_absolute_times() -> None:
    client = loaded()
    client("SET", "k", "me", "PX", 10_000)
    client.effects()
    assert client("EVALSHA", SHA[EXTEND], 1, "k", "me", 5000, 0) == 1
    assert client.effects() == [[b"PEXPIREAT", b"k", b"%d" % (client.now_ms + 15_000)]]
    assert client("EVALSHA", SHA[REACQUIRE], 1, "k", "me", 2000) == 1
    assert client.effects() == [[b"PEXPIREAT", b"k", b"%d" % (client.now_ms + 2000)]]
    assert client("EVALSHA", SHA[RELEASE], 1, "k", "other") == 0
    assert client.effects() == []
    assert client("EVALSHA", SHA[RELEASE], 1, "k", "me") == 1
    assert client.effects() == [[b"DEL", b"k"]]


def test_several_writes_of_a_script_are_one_unit() -> None:
    client = EngineClient()
    client.engine.services.loaded_scripts.add(b"90da91872223f85eb1376a17e3c4df21ace8c54b")
    client("SET", "lock", "me")
    client.effects()
    unlock = ("EVALSHA", "90da91872223f85eb1376a17e3c4df21ace8c54b", 2, "lock", "signal", "me", 9)
    assert client(*unlock) == 0
    assert client.effects() == [
        [b"MULTI"],
        [b"LPUSH", b"signal", b"1"],
        [b"PEXPIREAT", b"signal", b"%d" % (client.now_ms + 9)],
        [b"DEL", b"lock"],
        [b"EXEC"],
    ]


def test_a_lock_past_its_time_is_nobodys() -> None:
    client = loaded()
    client("SET", "k", "me", "PX", 10)
    client.now_ms += 11
    assert client("EVALSHA", SHA[RELEASE], 1, "k", "me") == 0
    assert client.effects()[1:] == [[b"DEL", b"k"]]


def test_scripts_run_inside_multi_and_their_writes_are_its_own() -> None:
    client = loaded()
    client("SET", "k", "me")
    client.effects()
    client("MULTI")
    assert client("EVALSHA", SHA[RELEASE], 1, "k", "me") == "QUEUED"
    assert client("EVAL", UNKNOWN, 1, "k") == "QUEUED"
    assert client("SET", "k", "next") == "QUEUED"
    released, refused, taken = client("EXEC")
    assert (released, taken) == (1, "OK")
    assert "not supported" in str(refused)
    assert client.effects() == [
        [b"MULTI"],
        [b"DEL", b"k"],
        [b"SET", b"k", b"next"],
        [b"EXEC"],
    ]


def test_a_write_of_a_script_breaks_watch_and_wakes_who_waits() -> None:
    client, watcher, waiter = (first := loaded()), first.new(), first.new()
    client("SET", "k", "me")
    watcher("WATCH", "k")
    waiter("BLPOP", "signal", 0)
    client.engine.services.loaded_scripts.add(b"90da91872223f85eb1376a17e3c4df21ace8c54b")
    client("EVALSHA", "90da91872223f85eb1376a17e3c4df21ace8c54b", 2, "k", "signal", "me", 99)
    assert waiter.read() == [b"signal", b"1"]
    watcher("MULTI")
    assert watcher("EXEC") is None


def test_a_script_writes_nothing_when_memory_is_full() -> None:
    client = EngineClient(maxmemory=1)
    client.engine.services.memory_used = lambda: 2
    client.engine.services.loaded_scripts.add(b"862f31bf38e9b63ce28d6e9e5143551bb34ef981")
    acquire = ("EVALSHA", "862f31bf38e9b63ce28d6e9e5143551bb34ef981", 1, "k", "me", 1000)
    reply = client(*acquire)
    assert str(reply).startswith("OOM command not allowed when used memory > 'maxmemory'. script:")
    client.engine.services.memory_used = lambda: 0
    assert client(*acquire) == "OK"


def test_monitor_shows_the_call_of_a_script() -> None:
    client, monitor = (first := loaded()), first.new()
    assert monitor("MONITOR") == "OK"
    client("EVALSHA", SHA[RELEASE], 1, "k", "me")
    (line,) = monitor.messages()
    assert line.endswith(f'"EVALSHA" "{SHA[RELEASE]}" "1" "k" "me"')


def test_a_pause_of_writes_holds_scripts_back() -> None:
    client, other = (first := loaded()), first.new()
    other("SET", "k", "me")
    other("CLIENT", "PAUSE", 100, "WRITE")
    client("EVALSHA", SHA[RELEASE], 1, "k", "me")
    assert other("GET", "k") == b"me"
    client.sleep(101)
    assert client.read() == 1
    assert other("GET", "k") is None


def test_info_counts_the_loaded_scripts() -> None:
    client = AdminClient()
    client("SCRIPT", "LOAD", RELEASE)
    assert b"number_of_cached_scripts:1\r\n" in client("INFO", "memory")


def test_help_has_every_subcommand_of_the_table() -> None:
    lines = EngineClient()("SCRIPT", "HELP")
    named = {line.split()[0].lower().encode() for line in lines[1:] if not line.startswith(" ")}
    assert set(TABLE[b"script"].subcommands) <= named
