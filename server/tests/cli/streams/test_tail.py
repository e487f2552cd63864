"""``forebay tail``: the end of streams, new entries, patterns, and watching a group."""

from __future__ import annotations

import json

import pytest

from server.tests.support.lines import Lines, Process
from testkit.servers import ServerProcess
from testkit.waiting import info_field, wait_until


def add(cli: Lines, stream: str, *ids: str) -> None:
    for entry_id in ids:
        cli.ask("XADD", stream, entry_id, "n", entry_id)


def test_the_last_entries_come_in_order_and_as_many_as_asked_for(cli: Lines) -> None:
    add(cli, "s", *(f"{number}-0" for number in range(1, 21)))
    told = cli("tail", "s").splitlines()
    assert [line.split()[0] for line in told] == [f"{number}-0" for number in range(11, 21)]
    assert len(cli("tail", "s", "-n", 3).splitlines()) == 3
    assert cli("tail", "s", "-n", 0) == ""


def test_several_streams_are_named_and_mixed_by_their_ids(cli: Lines) -> None:
    add(cli, "a", "1-0", "4-0")
    add(cli, "b", "2-0", "3-0")
    told = [line.split()[:2] for line in cli("tail", "a", "b").splitlines()]
    assert told == [["a", "1-0"], ["b", "2-0"], ["b", "3-0"], ["a", "4-0"]]
    told = [line.split()[:2] for line in cli("tail", "?", "-n", 1).splitlines()]
    assert told == [["b", "3-0"], ["a", "4-0"]]


def test_from_a_moment_on_it_is_everything(cli: Lines) -> None:
    add(cli, "s", *(f"{number}-0" for number in range(1, 31)))
    told = cli.objects("tail", "s", "--since", "5")
    assert [entry["id"] for entry in told] == [f"{number}-0" for number in range(5, 31)]


def test_a_stream_that_is_not_there_is_a_mistake_unless_it_is_waited_for(
    server: ServerProcess, cli: Lines
) -> None:
    add(cli, "orders", "1-0")
    assert cli.refused("tail", "ordres").endswith("did you mean orders?")
    assert "no stream at" in cli.refused("tail", "x*") and "matches x*; list all" in cli.err
    with Process(server, "tail", "-f", "later") as tail:
        assert tail.process.stderr is not None
        assert tail.process.stderr.readline() == (
            "forebay: there is no stream later yet; waiting for it\n"
        )
        add(cli, "later", "1-0")
        assert tail.line().startswith("1-0  ")


def test_without_a_stream_it_is_wrong_usage(cli: Lines) -> None:
    assert cli.refused("tail", code=2) == "tail needs a stream; try: forebay tail --help"


def test_following_shows_what_comes_and_ctrl_c_ends_it_without_a_word(
    server: ServerProcess, cli: Lines
) -> None:
    add(cli, "a", "1-0")
    with Process(server, "tail", "-f", "a", "b", "--json") as tail:
        assert json.loads(tail.line()) == {"stream": "a", "id": "1-0", "fields": {"n": "1-0"}}
        for stream, entry_id in (("b", "5-0"), ("a", "2-0"), ("b", "6-0")):
            add(cli, stream, entry_id)
            told = json.loads(tail.line())
            assert (told["stream"], told["id"]) == (stream, entry_id)
        assert tail.interrupt() == (130, "forebay: there is no stream b yet; waiting for it\n")


def test_a_pattern_follows_streams_that_appear_later_from_their_start(
    server: ServerProcess, cli: Lines
) -> None:
    add(cli, "orders:1", "1-0")
    with Process(server, "tail", "-f", "orders:*", "-n", "0") as tail:
        with server.client() as client:
            wait_until("it waits", lambda: info_field(client, "blocked_clients") == 1)
        add(cli, "orders:2", "7-0", "8-0")
        assert [tail.line().split()[:2] for _ in range(2)] == [
            ["orders:2", "7-0"],
            ["orders:2", "8-0"],
        ]
        add(cli, "other", "1-0")
        add(cli, "orders:1", "2-0")
        assert tail.line().split()[:2] == ["orders:1", "2-0"]


def test_what_is_shown_is_seen_at_once_and_a_reader_that_leaves_ends_it(
    server: ServerProcess, cli: Lines
) -> None:
    add(cli, "s", "1-0")
    with Process(server, "tail", "-f", "s") as tail:
        assert tail.line().startswith("1-0")
        assert tail.process.stdout is not None
        tail.process.stdout.close()
        tail.process.stdout = None
        add(cli, "s", "2-0")
        assert tail.process.wait(60) == 0
        assert tail.process.stderr is not None
        assert tail.process.stderr.read() == ""


def test_a_server_that_goes_away_ends_it_with_a_sentence(make_forebay, capsys) -> None:
    server = make_forebay()
    with server.client() as client:
        client("XADD", "s", "1-0", "a", "b")
        with Process(server, "tail", "-f", "s") as tail:
            assert tail.line().startswith("1-0")
            wait_until("it waits", lambda: info_field(client, "blocked_clients") == 1)
            for line in client("CLIENT", "LIST").decode().splitlines():
                fields = dict(word.split("=", 1) for word in line.split())
                if fields["cmd"] == "xread":
                    client.insist("CLIENT", "KILL", "ID", fields["id"])
            code, _, told = tail.end()
    assert code == 1 and "closed the connection" in told and "; try: " in told


# Watching a group


@pytest.fixture
def group(cli: Lines) -> Lines:
    """A group that has read 1-0 to 3-0 of five; 1-0 is done, bob took 3-0 over from alice."""
    add(cli, "s", "1-0", "2-0", "3-0", "4-0", "5-0")
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 3, "STREAMS", "s", ">")
    cli.ask("XCLAIM", "s", "g", "bob", 0, "3-0")
    cli.ask("XACK", "s", "g", "1-0")
    return cli


def state(cli: Lines) -> object:
    """All state of a group that watching could change."""
    pending = [[*each[:2], each[3]] for each in cli.ask("XPENDING", "s", "g", "-", "+", 10)]
    consumers = [each[:4] for each in cli.ask("XINFO", "CONSUMERS", "s", "g")]
    return pending, consumers, cli.ask("XINFO", "GROUPS", "s")


def test_an_onlooker_sees_what_was_delivered_and_to_whom(group: Lines) -> None:
    before = state(group)
    told = group.objects("tail", "s", "--group", "g")
    assert [(each["id"], each["state"], each.get("consumer")) for each in told] == [
        ("1-0", "acknowledged", None),
        ("2-0", "pending", "alice"),
        ("3-0", "pending", "bob"),
    ]
    assert [each.get("deliveries") for each in told] == [None, 1, 2]
    lines = group("tail", "s", "--group", "g", "-n", 2).splitlines()
    assert "[with alice for " in lines[0] and ", delivery 2]" in lines[1]
    assert state(group) == before


def test_an_onlooker_follows_deliveries_and_not_additions(
    server: ServerProcess, group: Lines
) -> None:
    with Process(server, "tail", "-f", "s", "--group", "g", "-n", "1", "--json") as tail:
        assert json.loads(tail.line())["id"] == "3-0"
        add(group, "s", "6-0")
        group.ask("XREADGROUP", "GROUP", "g", "carol", "COUNT", 1, "STREAMS", "s", ">")
        told = json.loads(tail.line())
        assert (told["id"], told["consumer"]) == ("4-0", "carol")
        assert tail.interrupt() == (130, "")
    assert group.ask("XINFO", "GROUPS", "s")[0][3] == 3  # alice, bob and carol


def test_a_group_that_is_not_there_is_told_with_those_that_are(group: Lines) -> None:
    assert group.refused("tail", "s", "--group", "h") == "s has no group h; its groups are: g"
    assert group.refused("tail", "t", "--group", "g").startswith("there is no stream t at ")
