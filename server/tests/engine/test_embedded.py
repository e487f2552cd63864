"""The interface for programs that embed an engine: bytes, time, older tables."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.commands.table import TABLE
from forebay.engine.embedded import Embedded, EmbeddedClient
from forebay.engine.older import commands_of
from testkit.engine_client import EngineClient
from testkit.resp import Arg, ReplyError, encode, parse, split_replies

NOW_MS = 1_700_000_000_000


def ask(client: EmbeddedClient, *words: Arg) -> Any:
    client.send(encode(*words))
    return parse(client.take())


def test_a_command_may_come_in_any_pieces() -> None:
    server = Embedded(NOW_MS)
    client = server.connect()
    data = encode("XADD", "s", "*", "f", "v") + encode("XLEN", "s")
    for at in range(len(data)):
        client.send(data[at : at + 1])
    assert split_replies(client.take()) == [b"$15\r\n1700000000000-0\r\n", b":1\r\n"]


def test_what_follows_a_blocked_command_runs_after_it() -> None:
    server = Embedded(NOW_MS)
    waiting, other = server.connect(), server.connect()
    got: list[bytes] = []
    waiting.on_output = got.append
    waiting.send(encode("BLPOP", "l", "0") + encode("PING"))
    assert got == []
    other.send(encode("RPUSH", "l", "x"))
    assert [parse(one) for one in split_replies(b"".join(got))] == [[b"l", b"x"], "PONG"]


def test_a_wait_ends_when_its_time_is_up_and_not_before() -> None:
    server = Embedded(NOW_MS)
    client = server.connect()
    client.send(encode("BLPOP", "l", "5"))
    server.pass_time(4_999)
    assert client.take() == b""
    assert server.next_due_ms() == NOW_MS + 5_000
    server.pass_time(1)
    assert client.take() == b"*-1\r\n"


def test_time_passes_although_a_key_expires_a_moment_after_the_last_look() -> None:
    server = Embedded(NOW_MS)
    client = server.connect()
    for ms in (3, 5, 9):
        ask(client, "SET", f"k{ms}", "v", "PX", ms)
    server.pass_time(60_000)
    assert server.now_ms == NOW_MS + 60_000
    assert ask(client, "DBSIZE") == 0


def test_a_client_that_left_waits_no_longer() -> None:
    server = Embedded(NOW_MS)
    gone, other = server.connect(), server.connect()
    gone.send(encode("BLPOP", "l", "0"))
    gone.close()
    assert ask(other, "RPUSH", "l", "x") == 1
    assert ask(other, "LLEN", "l") == 1


def test_garbage_ends_the_connection_with_redis_own_words() -> None:
    server = Embedded(NOW_MS)
    client, ended = server.connect(), []
    client.on_end = lambda: ended.append(1)
    client.send(b"*1\r\n!\r\n")
    assert client.take() == b"-ERR Protocol error: expected '$', got '!'\r\n"
    assert ended == [1]


def test_changes_are_commands_with_their_real_ids() -> None:
    server = Embedded(NOW_MS)
    ask(server.connect(), "XADD", "s", "*", "f", "v")
    changes = server.changes()
    assert changes == [[b"SELECT", b"0"], [b"XADD", b"s", b"1700000000000-0", b"f", b"v"]]
    assert server.changes() == []


LATER = [
    ("XNACK", "s", "g", "SILENT", "IDS", 1, "1-0"),
    ("XCFGSET", "s", "IDMP-MAXSIZE", 10),
    ("XREADGROUP", "GROUP", "g", "c", "COUNT", 1, "claim", 1000, "STREAMS", "s", ">"),
    ("XREADGROUP", "GROUP", "g", "c", "MAXSIZE", 1000, "STREAMS", "s", ">"),
    ("XADD", "s", "IDMP", "p", "i", "*", "f", "v"),
    ("XADD", "s", "MAXLEN", "1000", "ACKED", "*", "f", "v"),
    ("FB.SPLIT", "s", "-", "+", 2),
    ("SINTERCARD", "1", "s"),
]
ALWAYS = [
    ("XADD", "s", "NOMKSTREAM", "*", "IDMP", "ACKED"),
    ("XADD", "s", "MAXLEN", "~", "1000", "9-9", "ACKED", "v"),
    ("XADD", "s", "99", "ACKED", "v"),
    ("XREADGROUP", "GROUP", "CLAIM", "CLAIM", "STREAMS", "CLAIM", ">"),
    ("XGROUP", "CREATE", "ENTRIESREAD", "g", "$", "MKSTREAM"),
    ("SET", "IFEQ", "IFEQ", "KEEPTTL"),
]


@pytest.mark.parametrize("words", LATER, ids=lambda words: " ".join(map(str, words)))
def test_an_older_server_does_not_know_what_came_later(words: tuple[Arg, ...]) -> None:
    today, older = EngineClient(), EngineClient(commands=commands_of("6.2"))
    reply = older(*words)
    assert isinstance(reply, ReplyError)
    assert str(reply).startswith(("ERR unknown command", "ERR syntax error"))
    assert not str(today(*words)).startswith(("ERR unknown command", "ERR syntax error"))


@pytest.mark.parametrize("words", ALWAYS, ids=lambda words: " ".join(map(str, words)))
def test_an_older_server_takes_any_word_as_a_name_or_a_value(words: tuple[Arg, ...]) -> None:
    today, older = EngineClient(), EngineClient(commands=commands_of("6.2"))
    assert str(older(*words)) == str(today(*words))


def described() -> list[tuple[bytes, int, list[bytes]]]:
    return [
        (row.full_name, row.number, [one.full_name for one in row.subcommands.values()])
        for row in TABLE.values()
    ]


def test_the_table_of_today_is_not_changed_by_an_older_one() -> None:
    before = described()
    commands_of("5.0")
    assert described() == before


def test_subcommands_are_older_too() -> None:
    older = EngineClient(commands=commands_of("6.0"))
    older("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    reply = older("XGROUP", "CREATECONSUMER", "s", "g", "c")
    assert str(reply).startswith("ERR unknown subcommand 'CREATECONSUMER'")
