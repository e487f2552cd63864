"""MONITOR: every command, at the time it runs, as it was sent."""

from __future__ import annotations

import pytest

from forebay.engine.ticker import Ticker
from testkit.engine_client import BLOCKED, EngineClient, ReplyError


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


@pytest.fixture
def watcher(client: EngineClient) -> EngineClient:
    watcher = client.new()
    assert watcher("MONITOR") == "OK"
    return watcher


def shown(watcher: EngineClient) -> list[str]:
    """The new lines, without time and address."""
    return [text.split("] ")[1] for text in watcher.messages()]


def test_monitor_shows_what_others_run(client: EngineClient, watcher: EngineClient) -> None:
    client("SET", b'a"\n\\\x01\xc3', "b")
    client("SELECT 3")
    client("CLIENT LIST")
    client("FOO")
    assert watcher.messages() == [
        '1000.000000 [0 127.0.0.1:50000] "SET" "a\\"\\n\\\\\\x01\\xc3" "b"',
        '1000.000000 [3 127.0.0.1:50000] "SELECT" "3"',
    ]


def test_monitor_shows_the_commands_of_exec_before_exec(
    client: EngineClient, watcher: EngineClient
) -> None:
    for words in ("MULTI", "GET x", "EXEC"):
        client(words)
    assert shown(watcher) == ['"MULTI"', '"GET" "x"', '"EXEC"']


def test_monitor_hides_passwords(client: EngineClient, watcher: EngineClient) -> None:
    client("AUTH default secret")
    client("HELLO 2 AUTH default secret SETNAME me")
    assert shown(watcher) == [
        '"AUTH" "(redacted)" "(redacted)"',
        '"HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "me"',
    ]


def test_reset_or_the_end_stops_the_show(client: EngineClient, watcher: EngineClient) -> None:
    another = client.new()
    another("MONITOR")
    watcher("RESET")
    another.close()
    client("PING")
    assert client.engine.gate == 0
    watcher.session.out.take()
    client("PING")
    assert watcher.session.out.take() == b""


def test_a_command_that_waits_is_shown_when_it_comes_and_not_again_when_it_is_served(
    client: EngineClient, watcher: EngineClient
) -> None:
    reader = client.new()
    assert reader("XREAD BLOCK 0 STREAMS s $") is BLOCKED
    assert shown(watcher) == ['"XREAD" "BLOCK" "0" "STREAMS" "s" "$"']
    client("XADD s 1-1 f v")
    assert reader.read() is not BLOCKED
    assert shown(watcher) == ['"XADD" "s" "1-1" "f" "v"']


def test_a_command_that_waits_in_vain_is_shown_once(
    client: EngineClient, watcher: EngineClient
) -> None:
    assert client("BLPOP k 1") is BLOCKED
    client.sleep(1000)
    assert client.read() is None
    assert shown(watcher) == ['"BLPOP" "k" "1"']


def test_a_command_that_is_held_back_is_shown_when_it_is_run(
    client: EngineClient, watcher: EngineClient
) -> None:
    client("CLIENT PAUSE 1000 WRITE")
    assert client("BLPOP k 1") is BLOCKED
    assert shown(watcher) == []
    client.sleep(1000)
    assert shown(watcher) == ['"BLPOP" "k" "1"']
    client.new()("RPUSH k x")
    assert shown(watcher) == ['"RPUSH" "k" "x"']


def test_a_wait_inside_a_transaction_is_shown_with_it(
    client: EngineClient, watcher: EngineClient
) -> None:
    for words in ("MULTI", "BLPOP k 0", "FLUSHALL x", "CONFIG RESETSTAT", "EXEC"):
        client(words)
    assert shown(watcher) == ['"MULTI"', '"BLPOP" "k" "0"', '"FLUSHALL" "x"', '"EXEC"']


def test_a_client_that_watches_already_is_not_answered_again(
    client: EngineClient, watcher: EngineClient
) -> None:
    assert watcher.raw("MONITOR") == b""
    client("PING")
    assert shown(watcher) == ['"PING"']


def test_whoever_watches_does_not_touch_the_keys(watcher: EngineClient) -> None:
    refused = ReplyError("ERR Replica can't interact with the keyspace")
    assert watcher("GET a") == watcher("SET a 1") == watcher("PUBLISH a x") == refused
    watcher.send("ECHO x")
    assert watcher.messages()[0] == b"x"
    assert watcher("RESET") == "RESET"
    assert watcher("GET a") is None


class FineTicker(Ticker):
    """A clock that is some microseconds into the turn."""

    def wall_us(self, now_ms: int) -> int:
        return now_ms * 1000 + 42


def test_times_are_exact_to_the_microsecond(client: EngineClient, watcher: EngineClient) -> None:
    client.engine.ticker = FineTicker()
    client("PING")
    assert watcher.messages() == ['1000.000042 [0 127.0.0.1:50000] "PING"']
    assert client("TIME") == [b"1000", b"42"]
