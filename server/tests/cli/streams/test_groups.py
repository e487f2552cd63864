"""``forebay groups``: list, describe, create, reset, delete."""

from __future__ import annotations

import pytest

from server.tests.support.lines import Lines, at_terminal
from testkit.servers import ServerProcess


@pytest.fixture
def group(cli: Lines) -> Lines:
    """Five entries; group g has read three and acknowledged one."""
    for number in range(1, 6):
        cli.ask("XADD", "s", f"{number}-0", "n", number)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 3, "STREAMS", "s", ">")
    cli.ask("XACK", "s", "g", "1-0")
    return cli


def last_id(cli: Lines) -> bytes:
    reply = cli.ask("XINFO", "GROUPS", "s")[0]
    found: bytes = dict(zip(reply[::2], reply[1::2], strict=True))[b"last-delivered-id"]
    return found


def test_groups_of_all_streams_are_listed(group: Lines) -> None:
    group.ask("XGROUP", "CREATE", "t", "h", "$", "MKSTREAM")
    rows = [line.split() for line in group("groups", "list").splitlines()]
    assert rows == [
        ["stream", "group", "consumers", "pending", "lag", "last", "delivered"],
        ["s", "g", "1", "2", "2", "3-0"],
        ["t", "h", "0", "0", "0", "0-0"],
    ]
    assert [each["group"] for each in group.objects("groups", "list", "t")] == ["h"]
    assert [each["lag"] for each in group.objects("groups", "list", "*")] == [2, 0]


def test_no_groups_are_no_mistake_but_no_stream_is(cli: Lines) -> None:
    assert cli("groups", "list") == "no groups\n"
    assert cli.refused("groups", "list", "s").startswith("there is no stream s at ")


def test_a_group_is_described_with_its_consumers(group: Lines) -> None:
    lines = group("groups", "describe", "s", "g").splitlines()
    assert lines[0] == "g of s: 1 consumer"
    assert lines[1] == "last delivered  3-0  1970-01-01T00:00:00.003Z"
    assert lines[2].startswith("not delivered   2 entries, the next is ") and "days old" in lines[2]
    assert lines[3].startswith("pending         2 entries, the oldest is 2-0 with alice for ")
    assert lines[3].endswith(", 1 delivery")
    assert lines[-1].split()[:2] == ["alice", "2"]
    (facts,) = group.objects("groups", "describe", "s", "g")
    assert facts["oldest_pending_id"] == "2-0" and facts["behind_ms"] > 0
    assert [each["consumer"] for each in facts["consumers"]] == ["alice"]


def test_a_group_that_is_not_there_comes_with_the_others(group: Lines) -> None:
    told = "s has no group gg; its groups are: g; did you mean g?"
    assert group.refused("groups", "describe", "s", "gg") == told
    assert group.refused("groups", "delete", "s", "gg", "--yes") == told
    assert group.refused("groups", "reset", "s", "gg", "--to-id", 0) == told
    group.ask("XGROUP", "DESTROY", "s", "g")
    assert group.refused("groups", "describe", "s", "g") == (
        "s has no group g, nor any other; make it with: forebay groups create s g"
    )


@pytest.mark.parametrize(
    ("begin", "stands"),
    [
        ("start", b"0-0"),
        ("end", b"5-0"),
        ("2-0", b"2-0"),
        ("4", b"4-0"),
        ("1970-01-01T00:00:00.003Z", b"2-18446744073709551615"),
    ],
)
def test_a_group_begins_where_it_is_told_to(begin: str, stands: bytes, group: Lines) -> None:
    group.ask("XGROUP", "DESTROY", "s", "g")
    told = group("groups", "create", "s", "g", "--from", begin)
    assert told == f"g of s begins after {stands.decode()}\n"
    assert last_id(group) == stands


def test_a_group_cannot_be_made_twice_nor_without_a_stream(group: Lines) -> None:
    assert group.refused("groups", "create", "s", "g") == (
        "s has a group g already; move it with: forebay groups reset s g --to-id ID"
    )
    assert group.refused("groups", "create", "later", "g").endswith(
        "; --make-stream makes it, empty"
    )
    group("groups", "create", "later", "g", "--make-stream")
    assert group.ask("XLEN", "later") == 0
    assert "'soon' is no ID and no time" in group.refused(
        "groups", "create", "s", "h", "--from", "soon", code=2
    )


# Reset


def test_a_reset_says_what_is_given_again_and_a_dry_run_does_nothing(group: Lines) -> None:
    told = group("groups", "reset", "s", "g", "--to-id", "1-0", "--dry-run")
    assert told.splitlines() == [
        "g of s: from 3-0 to 1-0",
        "2 entries are given again",
        "2 entries are still pending",
        "nothing was done (--dry-run)",
    ]
    assert last_id(group) == b"3-0"
    assert group("groups", "reset", "s", "g", "--to-id", "1-0", "--yes").endswith("done\n")
    assert last_id(group) == b"1-0"


def test_a_group_is_not_moved_over_entries_without_a_yes(
    server: ServerProcess, group: Lines
) -> None:
    line = ["groups", "reset", "s", "g", "--to-id", "1-0"]
    assert group.run(*line) == 1
    assert group.err == (
        "forebay: nothing was done: to give 2 entries to g of s again, say --yes\n"
    )
    code, shown = at_terminal([*line[:-1], "$"], b"n\n", server)
    assert code == 1 and "2 entries are never given" in shown
    assert "Make g of s skip 2 entries? [y/N]" in shown
    assert last_id(group) == b"3-0"
    assert at_terminal(line, b"y\n", server)[0] == 0
    assert last_id(group) == b"1-0"


def test_a_group_is_moved_without_a_question_where_no_entry_lies_between(group: Lines) -> None:
    assert group("groups", "reset", "s", "g", "--to-id", "3-5").endswith("done\n")
    assert last_id(group) == b"3-5"


def test_a_reset_says_what_is_never_given(group: Lines) -> None:
    (facts,) = group.objects("groups", "reset", "s", "g", "--to-id", "$", "--yes")
    assert (facts["again"], facts["skipped"], facts["pending"]) == (0, 2, 2)
    assert facts["done"] is True and last_id(group) == b"5-0"


def test_after_a_reset_to_a_moment_its_first_entry_is_next(group: Lines) -> None:
    group("groups", "reset", "s", "g", "--to-time", "1970-01-01T00:00:00.002Z", "--yes")
    ((_, ((entry_id, _),)),) = group.ask(
        "XREADGROUP", "GROUP", "g", "bob", "COUNT", 1, "STREAMS", "s", ">"
    )
    assert entry_id == b"2-0"
    told = group("groups", "reset", "s", "g", "--to-time", "0", "--dry-run")
    assert "2 entries are given again" in told


@pytest.mark.parametrize("words", [[], ["--to-id", "1", "--to-time", "2"]])
def test_a_reset_needs_one_place(words: list[str], group: Lines) -> None:
    told = group.refused("groups", "reset", "s", "g", *words, code=2)
    assert told.startswith("give the new place: --to-time TIME or --to-id ID; try: forebay groups")


# Delete


def test_a_group_is_not_deleted_without_a_yes(server: ServerProcess, group: Lines) -> None:
    whole = "delete the group g of s with 1 consumer and 2 pending entries"
    assert group.refused("groups", "delete", "s", "g") == f"nothing was done: to {whole}, say --yes"
    code, shown = at_terminal(["groups", "delete", "s", "g"], b"n\n", server)
    assert code == 1 and "with 1 consumer and 2 pending entries? [y/N]" in shown
    assert "nothing was done" in shown
    assert len(group.ask("XINFO", "GROUPS", "s")) == 1


def test_a_group_is_deleted_after_a_yes(server: ServerProcess, group: Lines) -> None:
    assert at_terminal(["groups", "delete", "s", "g"], b"y\n", server)[0] == 0
    assert group.ask("XINFO", "GROUPS", "s") == []
    group("groups", "create", "s", "g")
    assert group("groups", "delete", "s", "g", "--yes") == "g of s is deleted\n"
    assert group.ask("XINFO", "GROUPS", "s") == []


def test_without_a_word_after_it_the_command_says_which_there_are(cli: Lines) -> None:
    assert "needs one of these words: list, describe, create, reset, delete" in cli.refused(
        "groups", code=2
    )
    assert "did you mean reset?" in cli.refused("groups", "rest", "s", "g", code=2)
