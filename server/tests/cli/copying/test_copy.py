"""``forebay copy`` from stream to stream: every entry once, continuing runs, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from server.tests.support.lines import Lines, Process, url_of
from testkit.servers import ServerProcess
from testkit.waiting import info_field, wait_until


def entries(cli: Lines, stream: str) -> Any:
    return cli.ask("XRANGE", stream, "-", "+")


def fill(cli: Lines, stream: str, first: int, last: int) -> None:
    with cli.server.client() as client:
        for number in range(first, last + 1):
            client.send(
                b"XADD %b %d-0 n %d other x%dx\r\n" % (stream.encode(), number, number, number)
            )
        client.read_many(last - first + 1)


def to(there: Lines) -> tuple[str, str]:
    return "--to-url", url_of(there.server)


def test_a_stream_is_copied_to_another_server_under_its_name(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 2500)
    told = cli("copy", "s", *to(there))
    assert told.startswith(f"copied 2,500 entries of s to s at {url_of(there.server)} in ")
    assert " a second\n" in told
    assert entries(there, "s") == entries(cli, "s")


def test_a_stream_is_copied_beside_itself(cli: Lines) -> None:
    fill(cli, "s", 1, 10)
    (facts,) = cli.objects("copy", "s", "t")
    assert (facts["copied"], facts["missing"], facts["last_id"]) == (10, 0, "10-0")
    assert entries(cli, "t") == entries(cli, "s")


def test_every_bit_arrives(cli: Lines, there: Lines) -> None:
    cli.ask("XADD", b"caf\xe9", "1-0", b"\xff\x00", b"\r\n$3\r\n", "", "", "twice", 1, "twice", 2)
    cli.ask("XADD", b"caf\xe9", "5-18446744073709551615", "wide", b"\r\n" * 2_000_000)
    for number in range(6, 30):
        cli.ask("XADD", b"caf\xe9", number, *(f"w{word}" for word in range(2 * number)))
    cli("copy", "*", *to(there))
    assert there.ask("XRANGE", b"caf\xe9", "-", "+") == cli.ask("XRANGE", b"caf\xe9", "-", "+")


def test_a_pattern_copies_every_stream_that_matches(cli: Lines, there: Lines) -> None:
    for number in range(50):
        fill(cli, f"s:{number}", 1, number + 1)
    cli.ask("SET", "s:text", "no stream")
    fill(cli, "other", 1, 3)
    told = cli.objects("copy", "s:*", *to(there))
    assert len(told) == 50 and sum(each["copied"] for each in told) == 1275
    assert there.ask("DBSIZE") == 50
    assert entries(there, "s:49") == entries(cli, "s:49")


def test_a_second_copy_brings_only_what_is_new(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 300)
    cli("copy", "s", *to(there))
    fill(cli, "s", 301, 305)
    (facts,) = cli.objects("copy", "s", *to(there))
    assert facts["copied"] == 5 and entries(there, "s") == entries(cli, "s")
    (facts,) = cli.objects("copy", "s", *to(there))
    assert facts["copied"] == 0


def test_a_copy_that_was_killed_goes_on_and_brings_every_entry_once(
    cli: Lines, there: Lines
) -> None:
    fill(cli, "s", 1, 20_000)
    for killed_at in (1, 5_000):
        with Process(cli.server, "copy", "s", *to(there)) as copy:
            wait_until(
                "some entries are there",
                lambda least=killed_at: there.ask("XLEN", "s") >= least,
                pause_s=0.0,
            )
            copy.process.kill()
    cli("copy", "s", *to(there))
    assert entries(there, "s") == entries(cli, "s")


def test_a_target_that_holds_something_else_is_refused_unless_asked_for(
    cli: Lines, there: Lines
) -> None:
    fill(cli, "s", 1, 5)
    there.ask("XADD", "s", "2-7", "strange", "entry")
    told = cli.refused("copy", "s", *to(there))
    assert "holds entries already, and its newest, 2-7, is not in s" in told
    assert told.endswith("--append copies what comes after it")
    assert there.ask("XLEN", "s") == 1
    there.ask("XADD", "s", "3-0", "n", "another")
    assert "3-0, has other fields in s" in cli.refused("copy", "s", *to(there))
    (facts,) = cli.objects("copy", "s", *to(there), "--append")
    assert facts["copied"] == 2 and there.ask("XLEN", "s") == 4


def test_a_source_that_was_trimmed_past_the_copy_is_told(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 5)
    cli("copy", "s", *to(there))
    fill(cli, "s", 6, 20)
    cli.ask("XTRIM", "s", "MINID", "10-0")
    assert "or the source was trimmed" in cli.refused("copy", "s", *to(there))


def test_following_brings_what_comes_and_tells_what_was_trimmed(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 5)
    with Process(cli.server, "copy", "s", *to(there), "--follow") as copy:
        assert copy.line().startswith("copied 5 entries of s ")
        for number in (6, 7):
            fill(cli, "s", number, number)
            wait_until("it is there", lambda least=number: there.ask("XLEN", "s") == least)
        with cli.server.client() as client:
            wait_until("it waits", lambda: info_field(client, "blocked_clients") == 1)
            client.send(b"MULTI\r\nXADD s 8 a b\r\nXADD s 9 a b\r\nXTRIM s MAXLEN 1\r\nEXEC\r\n")
            client.read_many(5)
        wait_until("the last is there", lambda: there.ask("XLEN", "s") == 8)
        assert copy.complaint() == (
            "forebay: 1 entry of s, trimmed or deleted during the copy, is not in "
            f"s at {url_of(there.server)}"
        )
        assert copy.interrupt() == (130, "")


def test_somebody_else_who_adds_to_the_target_is_told(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 5)
    with Process(cli.server, "copy", "s", *to(there), "--follow") as copy:
        assert copy.line().startswith("copied 5 entries")
        there.ask("XADD", "s", "99-0", "strange", "entry")
        fill(cli, "s", 6, 6)
        code, _, told = copy.end()
    assert code == 1 and told.startswith("forebay: another client adds to s at ")


def test_a_stream_without_entries_is_copied_as_nothing(cli: Lines, there: Lines) -> None:
    cli.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    assert cli("copy", "s", *to(there)).startswith("copied no entries of s ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["s"], "s would be copied to itself: name a TARGET or --to-url"),
        (["s", "s"], "s would be copied to itself"),
        (["s*", "t"], "a pattern is copied under the names that match: leave out TARGET"),
        (["s", "t", "--follow", "--groups"], "groups are copied once"),
        (["s", "t.csv", "--groups"], "a file holds entries only"),
        (["s.csv"], "a file can only be copied to a stream: forebay copy FILE STREAM"),
        (["a.csv", "b.ndjson"], "a file can only be copied to a stream"),
        (["s", "t", "--format", "xml"], "argument --format: invalid choice: 'xml'"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(words: list[str], told: str, cli: Lines) -> None:
    fill(cli, "s", 1, 1)
    assert cli.refused("copy", *words, code=2).startswith(told)


def test_refusals_of_either_end_are_sentences(cli: Lines, there: Lines) -> None:
    assert cli.refused("copy", "s", *to(there)).startswith("there is no stream s at")
    fill(cli, "s", 1, 3)
    there.ask("SET", "s", "text")
    assert cli.refused("copy", "s", *to(there)).startswith("s is a string and no stream")
    assert cli.refused("copy", "s", "--to-url", "redis://127.0.0.1:1").startswith(
        "No server answers at redis://127.0.0.1:1"
    )


def test_a_full_target_stops_the_copy_with_a_sentence(
    cli: Lines, make_forebay: Any, pair: tuple[ServerProcess, ServerProcess]
) -> None:
    fill(cli, "s", 1, 3)
    full = make_forebay("--maxmemory", "1kb")
    told = cli.refused("copy", "s", "--to-url", url_of(full))
    assert "has used up its maxmemory" in told


# Groups


def test_groups_go_along_with_their_place_consumers_and_pending(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 10)
    cli.ask("XDEL", "s", "3-0")
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XGROUP", "CREATE", "s", "idle", "5-0")
    cli.ask("XGROUP", "CREATECONSUMER", "s", "g", "waiting")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 4, "STREAMS", "s", ">")
    cli.ask("XACK", "s", "g", "1-0")
    cli.ask("XCLAIM", "s", "g", "bob", 0, "4-0", "IDLE", 3_600_000, "RETRYCOUNT", 7, "JUSTID")
    told = cli("copy", "s", *to(there), "--groups")
    assert "with 2 groups and 3 entries pending\n" in told
    assert state(there) == state(cli)
    ((_, _, idle_ms, _),) = there.ask("XPENDING", "s", "g", "4-0", "4-0", 1)
    assert 3_600_000 <= idle_ms < 3_700_000


def state(cli: Lines) -> Any:
    """The state of groups without times: positions, counters, owners and counts."""
    stream = dict(zip(*[iter(cli.ask("XINFO", "STREAM", "s"))] * 2, strict=True))
    kept = {name: stream.get(name) for name in (b"last-generated-id", b"entries-added")}
    pending = cli.ask("XPENDING", "s", "g", "-", "+", 100)
    consumers = [each[1] for each in cli.ask("XINFO", "CONSUMERS", "s", "g")]
    rows = [[entry_id, owner, count] for entry_id, owner, _, count in pending]
    return kept, cli.ask("XINFO", "GROUPS", "s"), consumers, rows


def test_a_second_copy_brings_groups_up_to_date(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 10)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 4, "STREAMS", "s", ">")
    cli("copy", "s", *to(there), "--groups")
    cli.ask("XACK", "s", "g", "1-0", "3-0")
    cli.ask("XREADGROUP", "GROUP", "g", "bob", "COUNT", 4, "STREAMS", "s", ">")
    fill(cli, "s", 11, 12)
    cli("copy", "s", *to(there), "--groups")
    assert state(there) == state(cli) and entries(there, "s") == entries(cli, "s")


def test_what_is_pending_of_an_entry_that_is_gone_is_left_behind_and_told(
    cli: Lines, there: Lines
) -> None:
    fill(cli, "s", 1, 3)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    cli.ask("XDEL", "s", "2-0")
    (facts,) = cli.objects("copy", "s", *to(there), "--groups")
    assert (facts["groups"], facts["pending"], facts["left_behind"]) == (1, 2, 1)


def test_thousands_of_pending_entries_go_along(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 2500)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    cli("copy", "s", *to(there), "--groups")
    assert there.ask("XPENDING", "s", "g")[0] == 2500


def test_a_stream_of_groups_alone_is_made(cli: Lines, there: Lines) -> None:
    cli.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    cli("copy", "s", *to(there), "--groups")
    assert state(there) == state(cli)


@pytest.mark.parametrize("pair", ["forebay > forebay", "forebay > redis"], indirect=True)
def test_what_was_released_is_free_at_the_target_too(cli: Lines, there: Lines) -> None:
    fill(cli, "s", 1, 3)
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "STREAMS", "s", ">")
    cli("pending", "nack", "s", "g", "2-0")
    cli("copy", "s", *to(there), "--groups")
    (_, found, *_) = there.ask("XAUTOCLAIM", "s", "g", "bob", 10**12, "0", "JUSTID")
    assert found == [b"2-0"]
    assert there.ask("XPENDING", "s", "g")[0] == 3
