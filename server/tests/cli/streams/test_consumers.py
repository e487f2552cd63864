"""``forebay consumers``: list them, and delete them without losing their pending entries."""

from __future__ import annotations

import pytest

from server.tests.support.lines import Lines, at_terminal
from testkit.servers import ServerProcess


@pytest.fixture
def crew(cli: Lines) -> Lines:
    """Alice has 1-0 to 3-0, the last for the second time, bob has 4-0."""
    for number in range(1, 5):
        cli.ask("XADD", "s", f"{number}-0", "n", number)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 3, "STREAMS", "s", ">")
    cli.ask("XCLAIM", "s", "g", "alice", 0, "3-0", "RETRYCOUNT", 7)
    cli.ask("XREADGROUP", "GROUP", "g", "bob", "COUNT", 1, "STREAMS", "s", ">")
    return cli


def pending(cli: Lines) -> list[tuple[bytes, bytes, int]]:
    rows = cli.ask("XPENDING", "s", "g", "-", "+", 10_000)
    return [(entry_id, owner, deliveries) for entry_id, owner, _, deliveries in rows]


def consumers(cli: Lines) -> list[bytes]:
    return [each[1] for each in cli.ask("XINFO", "CONSUMERS", "s", "g")]


def test_consumers_are_listed(crew: Lines) -> None:
    rows = [line.split() for line in crew("consumers", "list", "s", "g").splitlines()]
    assert rows[0] == ["consumer", "pending", "last", "seen", "last", "given"]
    assert [row[:2] for row in rows[1:]] == [["alice", "3"], ["bob", "1"]]
    found = crew.objects("consumers", "list", "s", "g")
    assert [(each["consumer"], each["pending"]) for each in found] == [("alice", 3), ("bob", 1)]
    crew.ask("XGROUP", "CREATE", "s", "h", "0")
    assert crew("consumers", "list", "s", "h") == "no consumers\n"
    assert crew.refused("consumers", "list", "s", "gg").startswith("s has no group gg; its groups")


def test_what_a_consumer_has_goes_to_another_one_with_its_counts(crew: Lines) -> None:
    told = crew("consumers", "delete", "s", "g", "alice", "--yes")
    assert told == "alice is deleted, 3 pending entries went to bob\n"
    assert pending(crew) == [
        (b"1-0", b"bob", 1),
        (b"2-0", b"bob", 1),
        (b"3-0", b"bob", 7),
        (b"4-0", b"bob", 1),
    ]
    assert consumers(crew) == [b"bob"]


def test_an_heir_can_be_named_and_is_made(crew: Lines) -> None:
    crew("consumers", "delete", "s", "g", "alice", "--to", "carol", "--yes")
    assert [owner for _, owner, _ in pending(crew)] == [b"carol"] * 3 + [b"bob"]


def test_the_time_for_which_an_entry_lies_is_kept(crew: Lines) -> None:
    crew.ask("XCLAIM", "s", "g", "alice", 0, "1-0", "IDLE", 3_600_000, "JUSTID")
    crew("consumers", "delete", "s", "g", "alice", "--yes")
    ((_, _, idle_ms, _),) = crew.ask("XPENDING", "s", "g", "1-0", "1-0", 1)
    assert 3_600_000 <= idle_ms < 3_700_000


def test_many_pending_entries_are_handed_over(crew: Lines) -> None:
    with crew.server.client() as client:
        for number in range(5, 2505):
            client("XADD", "s", f"{number}-0", "n", number)
    crew.ask("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    crew("consumers", "delete", "s", "g", "alice", "--yes")
    assert {owner for _, owner, _ in pending(crew)} == {b"bob"}
    assert len(pending(crew)) == 2504


def test_a_consumer_alone_is_not_deleted_with_what_it_has(crew: Lines) -> None:
    crew("consumers", "delete", "s", "g", "alice", "--yes")
    assert crew.refused("consumers", "delete", "s", "g", "bob", "--yes") == (
        "bob has 4 pending entries and is alone; name another consumer with --to NAME, or drop "
        "them with --drop"
    )
    assert crew("consumers", "delete", "s", "g", "bob", "--drop", "--yes") == "bob is deleted\n"
    assert pending(crew) == [] and consumers(crew) == []


def test_a_consumer_is_not_deleted_without_a_yes(server: ServerProcess, crew: Lines) -> None:
    before = pending(crew)
    assert crew.refused("consumers", "delete", "s", "g", "alice") == (
        "nothing was done: to delete the consumer alice of g of s after 3 pending entries went to "
        "bob, say --yes"
    )
    code, shown = at_terminal(["consumers", "delete", "s", "g", "alice"], b"\n", server)
    assert code == 1 and "went to bob? [y/N]" in shown
    assert pending(crew) == before and consumers(crew) == [b"alice", b"bob"]
    assert at_terminal(["consumers", "delete", "s", "g", "alice"], b"yes\n", server)[0] == 0
    assert consumers(crew) == [b"bob"]


def test_a_consumer_that_is_not_there_comes_with_those_that_are(crew: Lines) -> None:
    assert crew.refused("consumers", "delete", "s", "g", "alise", "--yes") == (
        "g has no consumer alise; its consumers are: alice, bob; did you mean alice?"
    )


@pytest.mark.parametrize("words", [["--to", "bob", "--drop"], ["--to", "alice"]])
def test_an_heir_that_makes_no_sense_is_wrong_usage(words: list[str], crew: Lines) -> None:
    crew.refused("consumers", "delete", "s", "g", "alice", *words, "--yes", code=2)
    assert len(pending(crew)) == 4
