"""TIME, SHUTDOWN, LOLWUT, MODULE and CLUSTER."""

import pytest

from server.tests.support.admin_client import AdminClient
from server.tests.support.sim_rig import MakeRig, chain
from testkit.resp import ReplyError


def test_time_answers_seconds_and_microseconds() -> None:
    client = AdminClient()
    client.now_ms = 1_700_000_000_123
    assert client("TIME") == [b"1700000000", b"123000"]


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


def test_a_shutdown_that_waits_for_a_replica_can_be_aborted(make_rig: MakeRig) -> None:
    primary, _ = chain(make_rig(2))
    asker, client = primary.client(), primary.client()
    client("SET", "k", "v")
    assert asker("SHUTDOWN") is None
    assert primary.engine.blocking.blocked_clients == 1
    assert client("SHUTDOWN", "ABORT") == "OK"
    assert asker.replies() == [b"-ERR Errors trying to SHUTDOWN. Check logs.\r\n"]
    assert client("SET", "k", "w") == "OK"


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
