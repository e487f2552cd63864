"""TIME, ROLE, WAIT, SHUTDOWN, LOLWUT, MODULE and CLUSTER."""

import pytest

from server.tests.support.admin_client import AdminClient
from testkit.engine_client import BLOCKED
from testkit.resp import ReplyError


def test_time_answers_seconds_and_microseconds() -> None:
    client = AdminClient()
    client.now_ms = 1_700_000_000_123
    assert client("TIME") == [b"1700000000", b"123000"]


def test_role_is_a_master_without_replicas() -> None:
    assert AdminClient()("ROLE") == [b"master", 0, []]


def test_wait_for_no_replica_answers_at_once() -> None:
    assert AdminClient()("WAIT", "0", "1000") == 0


def test_wait_for_a_replica_answers_zero_when_time_is_up() -> None:
    client = AdminClient()
    assert client("WAIT", "1", "500") is BLOCKED
    client.sleep(499)
    assert client.read() is BLOCKED
    client.sleep(2)
    assert client.read() == 0


def test_wait_inside_a_transaction_answers_at_once() -> None:
    client = AdminClient()
    client("MULTI")
    client("WAIT", "1", "0")
    assert client("EXEC") == [0]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["x", "1"], "ERR value is not an integer or out of range"),
        (["1", "x"], "ERR timeout is not an integer or out of range"),
        (["1", "-1"], "ERR timeout is negative"),
    ],
)
def test_wait_refuses_what_is_no_number(words: list[str], error: str) -> None:
    assert AdminClient()("WAIT", *words) == ReplyError(error)


@pytest.mark.parametrize("words", [[], ["NOSAVE"], ["save", "now"], ["NOW", "FORCE", "NOSAVE"]])
def test_shutdown_stops_the_server_and_does_not_answer(words: list[str]) -> None:
    client = AdminClient()
    assert client("SHUTDOWN", *words) is None
    assert client.shutdowns == [[word.upper().encode() for word in words]]


@pytest.mark.parametrize(
    "words", [["later"], ["SAVE", "NOSAVE"], ["ABORT", "NOW"], ["NOSAVE", "ABORT"]]
)
def test_shutdown_refuses_words_that_make_no_sense(words: list[str]) -> None:
    client = AdminClient()
    assert client("SHUTDOWN", *words) == ReplyError("ERR syntax error")
    assert client.shutdowns == []


def test_there_is_no_shutdown_to_abort() -> None:
    assert AdminClient()("SHUTDOWN", "ABORT") == ReplyError("ERR No shutdown in progress.")


def test_shutdown_is_not_allowed_in_a_transaction() -> None:
    client = AdminClient()
    client("MULTI")
    assert isinstance(client("SHUTDOWN"), ReplyError)


def test_lolwut_ends_with_the_version() -> None:
    client = AdminClient()
    for words in ([], ["VERSION", "5", "1", "2"], ["anything"]):
        assert client("LOLWUT", *words).endswith(b"Redis ver. 8.10.0\n")


def test_there_are_no_modules_and_none_can_be_loaded() -> None:
    client = AdminClient()
    assert client("MODULE", "LIST") == []
    assert str(client("MODULE", "LOAD", "/x")).startswith("ERR MODULE command not allowed.")
    assert "LIST" in client("MODULE", "HELP")


@pytest.mark.parametrize("words", [["INFO"], ["SLOTS"], ["HELP"], ["KEYSLOT", "a"], ["shards"]])
def test_cluster_answers_that_it_is_disabled(words: list[str]) -> None:
    assert AdminClient()("CLUSTER", *words) == ReplyError(
        "ERR This instance has cluster support disabled"
    )


def test_an_unknown_cluster_subcommand_is_unknown() -> None:
    assert AdminClient()("CLUSTER", "foo") == ReplyError(
        "ERR unknown subcommand 'foo'. Try CLUSTER HELP."
    )
