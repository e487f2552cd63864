"""XLEN: how many entries a stream has."""

from __future__ import annotations

from testkit.engine_client import EngineClient, ReplyError


def test_it_counts_live_entries() -> None:
    client = EngineClient()
    for n in range(1, 251):
        client("XADD", "s", f"{n}-0", "f", "v")
        assert client("XLEN", "s") == n
    client("XDEL", "s", "7-0", "7-0", "8-0")
    assert client.raw("XLEN", "s") == b":248\r\n"
    client("XTRIM", "s", "MAXLEN", "0")
    assert client("XLEN", "s") == 0


def test_a_missing_key_has_none() -> None:
    client = EngineClient()
    assert client("XLEN", "s") == 0
    client("HELLO", "3")
    assert client.raw("XLEN", "s") == b":0\r\n"


def test_another_type_and_a_wrong_number_of_words_are_errors() -> None:
    client = EngineClient()
    client("RPUSH", "list", "a")
    wrong_type = ReplyError("WRONGTYPE Operation against a key holding the wrong kind of value")
    assert client("XLEN", "list") == wrong_type
    arity = ReplyError("ERR wrong number of arguments for 'xlen' command")
    assert client("XLEN") == client("XLEN", "a", "b") == arity


def test_it_records_nothing_and_disturbs_nobody() -> None:
    client = EngineClient()
    client("XADD", "s", "1-0", "f", "v")
    client.effects()
    client("WATCH", "s")
    client("XLEN", "s")
    client("MULTI")
    client("XLEN", "s")
    assert client("EXEC") == [1]
    assert client.effects() == []
