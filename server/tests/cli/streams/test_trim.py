"""``forebay trim``: what it would remove, which groups need it, and nothing without a yes."""

from __future__ import annotations

import pytest

from server.tests.support.lines import Lines, at_terminal
from testkit.servers import ServerProcess


@pytest.fixture
def stream(cli: Lines) -> Lines:
    """Ten entries; g has 2-0 and 7-0 pending, h has read four."""
    for number in range(1, 11):
        cli.ask("XADD", "s", f"{number}-0", "n", number)
    for group, count in (("g", 10), ("h", 4)):
        cli.ask("XGROUP", "CREATE", "s", group, "0")
        cli.ask("XREADGROUP", "GROUP", group, "alice", "COUNT", count, "STREAMS", "s", ">")
    cli.ask("XACK", "s", "g", *(f"{n}-0" for n in range(1, 11) if n not in (2, 7)))
    cli.ask("XACK", "s", "h", *(f"{n}-0" for n in range(1, 5)))
    return cli


def ids(cli: Lines) -> list[bytes]:
    return [entry_id for entry_id, _ in cli.ask("XRANGE", "s", "-", "+")]


def test_a_dry_run_says_what_would_go_and_who_needs_it(stream: Lines) -> None:
    assert stream("trim", "s", "--maxlen", 4, "--dry-run").splitlines() == [
        "6 entries of s go, 1-0 to 6-0; 4 stay",
        "  1 of them is pending in g",
        "  h was not given all of them yet (last: 4-0)",
        "nothing was done (--dry-run)",
    ]
    (facts,) = stream.objects("trim", "s", "--maxlen", 7, "--dry-run")
    assert facts == {
        "stream": "s",
        "going": 3,
        "first_id": "1-0",
        "last_id": "3-0",
        "staying": 7,
        "pending": 1,
        "groups": [
            {"group": "g", "pending": 1, "not_given": False},
            {"group": "h", "pending": 0, "not_given": False},
        ],
        "removed": 0,
    }
    assert len(ids(stream)) == 10


@pytest.mark.parametrize(
    ("words", "stay"),
    [
        (["--maxlen", "3"], ["8-0", "9-0", "10-0"]),
        (["--maxlen", "8"], [f"{n}-0" for n in range(3, 11)]),
        (["--maxlen", "0"], []),
        (["--before", "9-0"], ["9-0", "10-0"]),
        (["--before", "9"], ["9-0", "10-0"]),
        (["--before", "1970-01-01T00:00:00.010Z"], ["10-0"]),
        (["--before", "1m"], []),
    ],
)
def test_with_a_yes_it_goes(words: list[str], stay: list[str], stream: Lines) -> None:
    told = stream("trim", "s", *words, "--yes")
    assert ids(stream) == [entry_id.encode() for entry_id in stay]
    assert f"{10 - len(stay)} entries removed" in told


@pytest.mark.parametrize("words", [["--maxlen", "10"], ["--maxlen", "99"], ["--before", "0"]])
def test_where_nothing_goes_nobody_is_asked(words: list[str], stream: Lines) -> None:
    assert stream("trim", "s", *words) == "s has 10 entries, and none is removed\n"
    assert len(ids(stream)) == 10


def test_nothing_goes_without_a_yes(server: ServerProcess, stream: Lines) -> None:
    assert stream.run("trim", "s", "--maxlen", 1) == 1
    assert stream.err == "forebay: nothing was done: to remove 9 entries of s, say --yes\n"
    code, shown = at_terminal(["trim", "s", "--maxlen", "1"], b"\n", server)
    assert code == 1 and "Remove 9 entries of s? [y/N]" in shown
    assert len(ids(stream)) == 10
    assert at_terminal(["trim", "s", "--maxlen", "1"], b"y\n", server)[0] == 0
    assert ids(stream) == [b"10-0"]


def test_a_long_stream_is_counted_from_its_nearer_end(cli: Lines) -> None:
    with cli.server.client() as client:
        for number in range(1, 6001):
            client.send(b"XADD s %d n 1\r\n" % number)
        client.read_many(6000)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    for left in (5000, 100):
        cli("trim", "s", "--maxlen", left, "--yes")
        assert ids(cli)[0] == b"%d-0" % (6001 - left) and len(ids(cli)) == left


def test_it_must_be_said_what_stays(stream: Lines) -> None:
    for words in ([], ["--maxlen", "1", "--before", "2"]):
        told = stream.refused("trim", "s", *words, "--yes", code=2)
        assert told.startswith("give what stays: --maxlen N, or --before TIME or ID")
    assert "'-1' is no number" in stream.refused("trim", "s", "--maxlen", "-1", code=2)
    assert len(ids(stream)) == 10


def test_a_stream_that_is_not_there_is_told(stream: Lines) -> None:
    assert stream.refused("trim", "t", "--maxlen", 1, "--yes").startswith("there is no stream t")
