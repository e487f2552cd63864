"""``forebay pending``: list, claim, ack, nack, by ID and by choice."""

from __future__ import annotations

import pytest

from server.tests.support.lines import Lines, at_terminal
from testkit.servers import ServerProcess

HOUR_MS = 3_600_000


@pytest.fixture
def work(cli: Lines) -> Lines:
    """Alice has 1-0 for an hour and 2-0, bob has 3-0."""
    for number in range(1, 4):
        cli.ask("XADD", "s", f"{number}-0", "n", number)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 2, "STREAMS", "s", ">")
    cli.ask("XREADGROUP", "GROUP", "g", "bob", "COUNT", 2, "STREAMS", "s", ">")
    cli.ask("XCLAIM", "s", "g", "alice", 0, "1-0", "IDLE", HOUR_MS, "RETRYCOUNT", 3, "JUSTID")
    return cli


def owners(cli: Lines) -> dict[str, tuple[str, int]]:
    """Owner and delivery count by ID."""
    return {
        each["id"]: (each["consumer"], each["deliveries"])
        for each in cli.objects("pending", "list", "s", "g")
    }


def test_pending_entries_are_listed(work: Lines) -> None:
    lines = [line.split() for line in work("pending", "list", "s", "g").splitlines()]
    assert lines[0] == ["id", "consumer", "held", "deliveries"]
    assert lines[1][:2] == ["1-0", "alice"] and lines[1][-1] == "3"
    assert owners(work) == {"1-0": ("alice", 3), "2-0": ("alice", 1), "3-0": ("bob", 1)}


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (["--idle", "30m"], ["1-0"]),
        (["--consumer", "alice"], ["1-0", "2-0"]),
        (["--consumer", "alice", "-n", "1"], ["1-0"]),
        (["--consumer", "nobody"], []),
    ],
)
def test_a_choice_is_by_time_and_consumer(words: list[str], ids: list[str], work: Lines) -> None:
    found = work.objects("pending", "list", "s", "g", *words)
    assert [each["id"] for each in found] == ids


def test_nothing_pending_is_said(cli: Lines) -> None:
    cli.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    assert cli("pending", "list", "s", "g") == "nothing is pending\n"


def test_thousands_are_listed_and_acknowledged(work: Lines) -> None:
    with work.server.client() as client:
        for number in range(4, 2504):
            client("XADD", "s", f"{number}-0", "n", number)
    work.ask("XREADGROUP", "GROUP", "g", "bob", "STREAMS", "s", ">")
    assert len(work.objects("pending", "list", "s", "g")) == 2503
    assert work("pending", "ack", "s", "g", "--all", "--yes") == "2,503 entries acknowledged\n"
    assert work.ask("XPENDING", "s", "g")[0] == 0


# Claim


def test_entries_are_claimed_by_id_or_by_choice(work: Lines) -> None:
    assert work("pending", "claim", "s", "g", "--to", "carol", "3-0") == "1 entry went to carol\n"
    assert owners(work)["3-0"] == ("carol", 1)
    work("pending", "claim", "s", "g", "--to", "carol", "--idle", "30m")
    assert owners(work)["1-0"] == ("carol", 3)
    work("pending", "claim", "s", "g", "--to", "dave", "--all")
    assert {owner for owner, _ in owners(work).values()} == {"dave"}


def test_an_id_that_is_not_pending_is_told(work: Lines) -> None:
    assert work.run("pending", "claim", "s", "g", "--to", "carol", "3-0", "9-9") == 1
    assert work.out == "1 entry went to carol\n"
    assert work.err == "forebay: 1 entry of these is not pending\n"


# Ack


def test_entries_are_acknowledged_by_id_without_a_question(work: Lines) -> None:
    assert work("pending", "ack", "s", "g", "1-0", "2-0") == "2 entries acknowledged\n"
    assert list(owners(work)) == ["3-0"]


def test_a_choice_is_not_acknowledged_without_a_yes(server: ServerProcess, work: Lines) -> None:
    assert work.refused("pending", "ack", "s", "g", "--all") == (
        "nothing was done: to acknowledge 3 entries of g of s, say --yes"
    )
    code, shown = at_terminal(["pending", "ack", "s", "g", "--idle", "30m"], b"no\n", server)
    assert code == 1 and "Acknowledge 1 entry of g of s? [y/N]" in shown
    assert len(owners(work)) == 3
    assert at_terminal(["pending", "ack", "s", "g", "--consumer", "bob"], b"y\n", server)[0] == 0
    assert list(owners(work)) == ["1-0", "2-0"]


# Nack


@pytest.mark.parametrize(("mode", "count"), [("fail", 3), ("silent", 2), ("fatal", (1 << 63) - 1)])
def test_a_released_entry_can_be_claimed_at_once_by_anybody(
    mode: str, count: int, work: Lines
) -> None:
    told = work("pending", "nack", "s", "g", "1-0", "--mode", mode)
    assert told == "1 entry released\n"
    assert owners(work)["1-0"][1] == count
    (_, found, *_) = work.ask("XAUTOCLAIM", "s", "g", "bob", 10 * 365 * 24 * HOUR_MS, "0", "JUSTID")
    assert found == [b"1-0"]


def test_entries_of_a_consumer_are_released(work: Lines) -> None:
    assert work("pending", "nack", "s", "g", "--consumer", "alice") == "2 entries released\n"
    (_, found, *_) = work.ask("XAUTOCLAIM", "s", "g", "bob", 10 * 365 * 24 * HOUR_MS, "0", "JUSTID")
    assert found == [b"1-0", b"2-0"]


def test_a_released_entry_does_not_seem_to_lie_there_for_decades(work: Lines) -> None:
    work("pending", "nack", "s", "g", "1-0")
    (line,) = [row for row in work("pending", "list", "s", "g").splitlines() if "1-0" in row]
    assert "released" in line and "days" not in line
    assert "[released, delivery 3]" in work("tail", "s", "--group", "g")


# Which


@pytest.mark.parametrize("command", [["claim", "--to", "x"], ["ack"], ["nack"]])
@pytest.mark.parametrize("words", [[], ["1-0", "--all"], ["1-0", "--idle", "5m"]])
def test_it_must_be_said_which_entries(command: list[str], words: list[str], work: Lines) -> None:
    told = work.refused("pending", command[0], "s", "g", *words, *command[1:], code=2)
    assert told.startswith("choose entries: IDs, or --idle TIME, --consumer NAME, or --all")


@pytest.mark.parametrize(
    "words", [["list"], ["claim", "--to", "x", "--all"], ["ack", "1-0"], ["nack", "1-0"]]
)
def test_a_group_that_is_not_there_comes_with_the_others(words: list[str], work: Lines) -> None:
    name, *rest = words
    assert work.refused("pending", name, "s", "h", *rest) == "s has no group h; its groups are: g"
    assert work.refused("pending", name, "t", "g", *rest).startswith("there is no stream t at ")


def test_a_word_that_is_no_id_is_refused_in_the_words_of_the_server(work: Lines) -> None:
    assert "Invalid stream ID" in work.refused("pending", "ack", "s", "g", "first")
    assert "no length of time" in work.refused(
        "pending", "list", "s", "g", "--idle", "long", code=2
    )
