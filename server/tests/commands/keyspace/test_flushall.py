"""FLUSHALL, FLUSHDB and FUNCTION FLUSH."""

from __future__ import annotations

from pathlib import Path

import pytest

from server.tests.support.admin_client import AdminClient
from testkit.engine_client import BLOCKED, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    client("SET a 1 EX 100")
    client("SELECT 1")
    client("SET b 2")
    client.effects()
    return client


@pytest.mark.parametrize("mode", ["", " ASYNC", " sync"])
def test_flushall_empties_every_database(client: EngineClient, mode: str) -> None:
    assert client("FLUSHALL" + mode) == "OK"
    assert client("DBSIZE") == 0
    client("SELECT 0")
    assert client("DBSIZE") == 0
    assert client("SCAN 0") == [b"0", []]


def test_a_snapshot_does_not_bring_back_what_was_flushed(tmp_path: Path) -> None:
    client = AdminClient(data_dir=str(tmp_path), save_points=((3600, 1),))
    client("SET", "secret", "1")
    assert client("SAVE") == "OK"
    assert b"secret" in (tmp_path / "dump.rdb").read_bytes()
    assert client("FLUSHALL") == "OK"
    assert b"secret" not in (tmp_path / "dump.rdb").read_bytes()


def test_flushdb_empties_one_database(client: EngineClient) -> None:
    assert client("FLUSHDB") == "OK"
    assert client("DBSIZE") == 0
    client("SELECT 0")
    assert client("DBSIZE") == 1


@pytest.mark.parametrize("name", ["FLUSHALL", "FLUSHDB"])
def test_it_is_propagated_even_if_there_was_nothing(client: EngineClient, name: str) -> None:
    client("SELECT 5")
    client(name)
    assert client.effects() == [[b"SELECT", b"5"], [name.encode()]]


@pytest.mark.parametrize("options", ["FOO", "SYNC ASYNC", "SYNC SYNC"])
@pytest.mark.parametrize("name", ["FLUSHALL", "FLUSHDB"])
def test_other_words_are_a_syntax_error(client: EngineClient, name: str, options: str) -> None:
    assert client(f"{name} {options}") == ReplyError("ERR syntax error")
    assert client("DBSIZE") == 1


def test_only_watches_on_keys_that_were_there_break(client: EngineClient) -> None:
    client("WATCH b")
    other = client.new()
    other("SELECT 1")
    other("WATCH c")
    client.new()("FLUSHALL")
    for each, expected in ((client, None), (other, ["PONG"])):
        each("MULTI")
        each("PING")
        assert each("EXEC") == expected


def test_a_group_reader_is_told_that_its_stream_is_gone(client: EngineClient) -> None:
    client("XGROUP CREATE s g 0 MKSTREAM")
    reader = client.new()
    reader("SELECT 1")
    assert reader("XREADGROUP GROUP g c BLOCK 0 STREAMS s >") is BLOCKED
    client("FLUSHALL")
    assert reader.read().args[0].startswith("NOGROUP")


def test_a_plain_reader_goes_on_waiting(client: EngineClient) -> None:
    client("XADD", "s", "1-1", "f", "v")
    reader = client.new()
    reader("SELECT 1")
    assert reader("XREAD BLOCK 0 STREAMS s $") is BLOCKED
    client("FLUSHDB")
    assert reader.read() is BLOCKED
    client("XADD", "s", "2-2", "f", "v")
    assert reader.read() == [[b"s", [[b"2-2", [b"f", b"v"]]]]]


def test_keys_with_an_expiry_time_are_forgotten_by_the_cycle_too(client: EngineClient) -> None:
    client("FLUSHALL")
    client("SELECT 0")
    client("SET a 1")
    client.effects()
    client.sleep(200_000)
    assert client("GET a") == b"1"
    assert client.effects() == []


# FUNCTION


@pytest.mark.parametrize("mode", ["", " ASYNC", " SYNC"])
def test_there_are_no_functions_to_flush(client: EngineClient, mode: str) -> None:
    assert client("FUNCTION FLUSH" + mode) == "OK"
    assert client("DBSIZE") == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("FLUSH FOO", "ERR FUNCTION FLUSH only supports SYNC|ASYNC option"),
        (
            "flush SYNC x",
            "ERR unknown subcommand or wrong number of arguments for 'flush'. Try FUNCTION HELP.",
        ),
        ("LOAD x", "ERR unknown subcommand 'LOAD'. Try FUNCTION HELP."),
    ],
)
def test_function_can_do_nothing_else(client: EngineClient, words: str, text: str) -> None:
    assert client("FUNCTION " + words) == ReplyError(text)
