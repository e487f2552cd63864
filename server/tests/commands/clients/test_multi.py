"""MULTI, EXEC, DISCARD: queue, run, discard."""

from __future__ import annotations

import pytest

from server.tests.support.replies import WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

ABORTED = ReplyError("EXECABORT Transaction discarded because of previous errors.")


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def test_commands_are_queued_then_run_together(client: EngineClient) -> None:
    assert client("MULTI") == "OK"
    assert client("SET a 1") == "QUEUED"
    assert client("GET a") == "QUEUED"
    other = client.new()
    assert other("GET a") is None
    assert client("EXEC") == ["OK", b"1"]
    assert other("GET a") == b"1"


def test_an_empty_transaction_is_an_empty_array(client: EngineClient) -> None:
    client("MULTI")
    assert client("EXEC") == []


def test_exec_and_discard_need_multi(client: EngineClient) -> None:
    assert client("EXEC") == ReplyError("ERR EXEC without MULTI")
    assert client("DISCARD") == ReplyError("ERR DISCARD without MULTI")


def test_discard_forgets_the_queue(client: EngineClient) -> None:
    client("MULTI")
    client("SET a 1")
    assert client("DISCARD") == "OK"
    assert client("EXEC") == ReplyError("ERR EXEC without MULTI")
    assert client("GET a") is None


@pytest.mark.parametrize(
    "wrong", ["FOO", "GET", "GET a b", "XGROUP FOO", "CLIENT KILL", "SUBSCRIBE"]
)
def test_a_command_that_cannot_be_queued_spoils_the_transaction(
    client: EngineClient, wrong: str
) -> None:
    client("MULTI")
    client("SET a 1")
    assert isinstance(client(wrong), ReplyError)
    assert client("SET a 2") == "QUEUED"
    assert client("EXEC") == ABORTED
    assert client("GET a") is None
    assert client("EXEC") == ReplyError("ERR EXEC without MULTI")


def test_multi_and_watch_inside_multi_are_errors_that_spoil_nothing(client: EngineClient) -> None:
    client("MULTI")
    assert client("MULTI") == ReplyError("ERR MULTI calls can not be nested")
    assert client("WATCH a") == ReplyError("ERR WATCH inside MULTI is not allowed")
    assert client("PING") == "QUEUED"
    assert client("EXEC") == ["PONG"]


def test_an_error_while_running_stops_nothing(client: EngineClient) -> None:
    for words in ("MULTI", "SET a x", "LPUSH a y", "SET b z"):
        client(words)
    assert client("EXEC") == ["OK", WRONGTYPE, "OK"]
    assert client("GET b") == b"z"


def test_exec_with_the_wrong_number_of_words_ends_the_transaction(client: EngineClient) -> None:
    client("MULTI")
    client("PING")
    assert client("EXEC x") == ReplyError(
        "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command"
    )
    assert client("EXEC") == ReplyError("ERR EXEC without MULTI")


def test_the_time_is_the_same_for_all_commands_of_exec(client: EngineClient) -> None:
    client("MULTI")
    client("XADD s * f v")
    client.now_ms += 5
    client("XADD s * f v")
    client.now_ms += 5
    assert client("EXEC") == [b"1000010-0", b"1000010-1"]


def test_select_inside_exec_holds_for_what_follows(client: EngineClient) -> None:
    for words in ("MULTI", "SELECT 5", "SET a 1", "EXEC"):
        client(words)
    assert client("GET a") == b"1"
    client("SELECT 0")
    assert client("GET a") is None


def test_reset_leaves_the_transaction(client: EngineClient) -> None:
    client("MULTI")
    assert client("RESET") == "RESET"
    assert client("PING") == "PONG"


def test_memory_is_judged_when_a_command_is_queued_and_when_exec_runs() -> None:
    client = EngineClient(maxmemory=100)
    full = ReplyError("OOM command not allowed when used memory > 'maxmemory'.")
    client("MULTI")
    assert client("SET a 1") == "QUEUED"
    client.engine.services.memory_used = lambda: 101
    assert client("SET a 2") == full
    assert client("EXEC") == ReplyError(
        "EXECABORT Transaction discarded because of: "
        "OOM command not allowed when used memory > 'maxmemory'."
    )
