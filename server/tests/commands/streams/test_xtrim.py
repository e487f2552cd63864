"""XTRIM: remove the oldest entries of a stream."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import (
    BAD_ID,
    BOTH_STRATEGIES,
    LIMIT_ALONE,
    LIMIT_EXACT,
    NOT_AN_INTEGER,
    SYNTAX,
    WRONGTYPE,
)
from server.tests.support.stream_client import stream_info
from testkit.engine_client import EngineClient, ReplyError

TOP = 2**64 - 1
NO_STRATEGY = ReplyError("ERR syntax error, XTRIM must be called with a trimming strategy")


@pytest.fixture
def client() -> EngineClient:
    """Entries 1-0 to 10-0, three to a node: [1 2 3] [4 5 6] [7 8 9] [10]."""
    client = EngineClient(stream_node_max_entries=3)
    fill(client, "s", 10)
    return client


def fill(client: EngineClient, key: str, count: int) -> None:
    for n in range(1, count + 1):
        client("XADD", key, f"{n}-0", "f", "v")
    client.effects()


def live(client: EngineClient) -> list[int]:
    return [int(entry[0].partition(b"-")[0]) for entry in client("XRANGE", "s", "-", "+")]


# Which entries are removed


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["MAXLEN", "10"], range(1, 11)),
        (["MAXLEN", "9"], range(2, 11)),
        (["MAXLEN", "=", "4"], range(7, 11)),
        (["maxlen", "0"], []),
        (["MAXLEN", "9223372036854775807"], range(1, 11)),
        (["MINID", "5-0"], range(5, 11)),
        (["MINID", "=", "5-1"], range(6, 11)),
        (["minid", "5"], range(5, 11)),
        (["MINID", "0"], range(1, 11)),
        (["MINID", str(TOP)], []),
        (["MAXLEN", "~", "9"], range(1, 11)),
        (["MAXLEN", "~", "7"], range(4, 11)),
        (["MAXLEN", "~", "5"], range(4, 11)),
        (["MAXLEN", "~", "0"], []),
        (["MINID", "~", "3-0"], range(1, 11)),
        (["MINID", "~", "3-1"], range(4, 11)),
        (["MINID", "~", "99"], []),
        (["MAXLEN", "~", "0", "LIMIT", "2"], range(1, 11)),
        (["MAXLEN", "~", "0", "LIMIT", "3"], range(4, 11)),
        (["LIMIT", "8", "MINID", "~", "99"], range(7, 11)),
        (["MAXLEN", "~", "0", "limit", "0"], []),
    ],
)
def test_what_is_left_follows_from_the_order(
    client: EngineClient, words: list[str], left: Sequence[int]
) -> None:
    removed = 10 - len(left)
    assert client.raw("XTRIM", "s", *words) == b":%d\r\n" % removed
    assert live(client) == list(left)


def test_tombstones_are_not_counted_but_their_ids_hold_a_node(client: EngineClient) -> None:
    client("XDEL", "s", "3-0")
    assert client("XTRIM", "s", "MINID", "~", "3-0") == 0
    assert client("XTRIM", "s", "MAXLEN", "~", "7") == 2
    assert live(client) == list(range(4, 11))


def test_without_a_limit_an_approximate_trim_stops_at_a_hundred_nodes() -> None:
    client = EngineClient(stream_node_max_entries=1)
    fill(client, "s", 250)
    assert client("XTRIM", "s", "MAXLEN", "~", "0") == 100
    assert client("XTRIM", "s", "MAXLEN", "~", "0", "LIMIT", "0") == 150


def test_without_a_node_size_an_approximate_trim_stops_at_ten_thousand() -> None:
    client = EngineClient(stream_node_max_entries=0, stream_node_max_bytes=0)
    fill(client, "s", 10_001)
    assert client("XTRIM", "s", "MAXLEN", "~", "0") == 0
    client("XTRIM", "s", "MAXLEN", "10000")
    assert client("XTRIM", "s", "MAXLEN", "~", "0") == 10_000


def test_a_missing_key_has_nothing_to_trim(client: EngineClient) -> None:
    assert client("XTRIM", "none", "MAXLEN", "0") == 0
    assert client("XTRIM", "none", "MAXLEN", "x") == NOT_AN_INTEGER
    assert client("EXISTS", "none") == 0


def test_trimming_moves_the_first_id_and_not_the_greatest_deleted(client: EngineClient) -> None:
    client("XTRIM", "s", "MAXLEN", "4")
    info = stream_info(client)
    assert info[b"recorded-first-entry-id"] == b"7-0"
    assert info[b"max-deleted-entry-id"] == b"0-0"
    assert (info[b"entries-added"], info[b"last-generated-id"]) == (10, b"10-0")


def test_an_emptied_stream_stays(client: EngineClient) -> None:
    client("XTRIM", "s", "MAXLEN", "0")
    assert (client("EXISTS", "s"), client("XLEN", "s")) == (1, 0)
    assert client("XADD", "s", "10-*", "f", "v") == b"10-1"


# Groups


@pytest.fixture
def grouped(client: EngineClient) -> EngineClient:
    """Group g has read 1 to 8 and acknowledged all but 2 and 5; group h has read all."""
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "c", "COUNT", "8", "STREAMS", "s", ">")
    client("XACK", "s", "g", "1-0", "3-0", "4-0", "6-0", "7-0", "8-0")
    client("XGROUP", "CREATE", "s", "h", "$")
    client.effects()
    return client


@pytest.mark.parametrize("sign", [[], ["="], ["~"]])
def test_acked_leaves_what_a_group_still_needs(grouped: EngineClient, sign: list[str]) -> None:
    assert grouped("XTRIM", "s", "MAXLEN", *sign, "0", "ACKED") == 6
    assert live(grouped) == [2, 5, 9, 10]
    assert grouped("XTRIM", "s", "ACKED", "MINID", *sign, "99") == 0


def test_acked_stops_at_the_length(grouped: EngineClient) -> None:
    assert grouped("XTRIM", "s", "MAXLEN", "7", "ACKED") == 3
    assert live(grouped) == [2, 5, 6, 7, 8, 9, 10]


def test_approximately_acked_goes_entry_by_entry(grouped: EngineClient) -> None:
    assert grouped("XTRIM", "s", "MINID", "~", "6-0", "ACKED") == 3
    assert live(grouped) == [2, 5, 6, 7, 8, 9, 10]


def test_approximately_delref_goes_entry_by_entry() -> None:
    client = EngineClient()
    fill(client, "s", 3)
    assert client("XTRIM", "s", "MAXLEN", "~", "1") == 0
    assert client("XTRIM", "s", "MAXLEN", "~", "1", "DELREF") == 2
    assert client.effects() == [[b"XTRIM", b"s", b"MAXLEN", b"=", b"1", b"DELREF"]]


def test_acked_looks_no_further_than_the_node_in_which_the_length_would_be_reached(
    client: EngineClient,
) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    client("XACK", "s", "g", *(f"{n}-0" for n in range(3, 11)))
    client.effects()
    assert client("XTRIM", "s", "MAXLEN", "8", "ACKED") == 1
    assert live(client) == [1, 2, 4, 5, 6, 7, 8, 9, 10]
    assert client.effects() == [[b"XTRIM", b"s", b"MAXLEN", b"9", b"ACKED"]]


@pytest.mark.parametrize("sign", [[], ["~"]])
def test_delref_drops_pending_records(grouped: EngineClient, sign: list[str]) -> None:
    assert grouped("XTRIM", "s", "MINID", *sign, "4-0", "DELREF") == 3
    assert [row[0] for row in grouped("XPENDING", "s", "g", "-", "+", "9")] == [b"5-0"]


def test_keepref_keeps_pending_records(grouped: EngineClient) -> None:
    assert grouped("XTRIM", "s", "keepref", "MAXLEN", "0") == 10
    assert grouped("XPENDING", "s", "g")[0] == 2


def test_a_limit_bounds_policies_too(grouped: EngineClient) -> None:
    assert grouped("XTRIM", "s", "MAXLEN", "~", "0", "LIMIT", "4", "ACKED") == 2
    assert live(grouped) == [2, 4, 5, 6, 7, 8, 9, 10]


def test_with_references_kept_everywhere_an_acked_trim_changes_nothing() -> None:
    client = EngineClient()
    fill(client, "s", 3)
    client("XGROUP", "CREATE", "s", "g", "0")
    client.effects()
    assert client("XTRIM", "s", "MAXLEN", "0", "ACKED") == 0
    assert client.effects() == []


# Errors


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["FOO", "1"], SYNTAX),
        (["MAXLEN", "1", "FOO"], SYNTAX),
        (["MAXLEN", "1", "2"], SYNTAX),
        (["MAXLEN", "~", "1", "LIMIT"], SYNTAX),
        (["MAXLEN", "1", "KEEPREF", "ACKED"], SYNTAX),
        (["MAXLEN", "1", "DELREF", "DELREF"], SYNTAX),
        (["MAXLEN", "1", "NOMKSTREAM"], SYNTAX),
        (["MAXLEN", "1", "IDMP", "p", "i"], SYNTAX),
        (["MAXLEN", "1", "*"], SYNTAX),
        (["MAXLEN", "~"], NOT_AN_INTEGER),
        (["MAXLEN", "="], NOT_AN_INTEGER),
        (["MAXLEN", "x"], NOT_AN_INTEGER),
        (["MAXLEN", "1.5"], NOT_AN_INTEGER),
        (["MAXLEN", "-1"], ReplyError("ERR The MAXLEN argument must be >= 0.")),
        (["MINID", "x"], BAD_ID),
        (["MINID", "-"], BAD_ID),
        (["MINID", "~", "$"], BAD_ID),
        (["MAXLEN", "1", "MINID", "1"], BOTH_STRATEGIES),
        (["MINID", "1", "MINID", "1"], BOTH_STRATEGIES),
        (["LIMIT", "5"], LIMIT_ALONE),
        (["LIMIT", "0"], NO_STRATEGY),
        (["KEEPREF", "LIMIT", "0"], NO_STRATEGY),
        (["MAXLEN", "1", "LIMIT", "5"], LIMIT_EXACT),
        (["MAXLEN", "=", "1", "LIMIT", "0"], LIMIT_EXACT),
        (["MAXLEN", "~", "1", "LIMIT", "x"], NOT_AN_INTEGER),
        (["MAXLEN", "~", "1", "LIMIT", "-1"], ReplyError("ERR The LIMIT argument must be >= 0.")),
    ],
)
def test_each_mistake_has_its_error(
    client: EngineClient, words: list[str], error: ReplyError
) -> None:
    assert client("XTRIM", "s", *words) == error
    assert len(live(client)) == 10


def test_words_are_checked_before_the_type(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XTRIM", "str", "MAXLEN", "x") == NOT_AN_INTEGER
    assert client("XTRIM", "str", "MAXLEN", "1") == WRONGTYPE
    arity = ReplyError("ERR wrong number of arguments for 'xtrim' command")
    assert client("XTRIM", "s", "MAXLEN") == client("XTRIM") == arity


# Its effects


@pytest.mark.parametrize(
    ("words", "record"),
    [
        (["MAXLEN", "4"], ["MAXLEN", "4"]),
        (["MINID", "=", "4"], ["MINID", "=", "4"]),
        (["MAXLEN", "~", "5", "KEEPREF"], ["MAXLEN", "=", "7", "KEEPREF"]),
        (["MAXLEN", "~", "0", "LIMIT", "5"], ["MAXLEN", "=", "7", "LIMIT", "5"]),
        (["LIMIT", "5", "MINID", "~", "99"], ["LIMIT", "5", "MINID", "=", "4-0"]),
        (["MINID", "~", "99"], ["MINID", "=", "99-0"]),
        (["MINID", "~", "5", "DELREF"], ["MINID", "=", "5-0", "DELREF"]),
        (["MINID", "~", "8", "LIMIT", "4", "ACKED"], ["MINID", "=", "4-0", "LIMIT", "4", "ACKED"]),
    ],
)
def test_the_record_says_what_was_done(
    client: EngineClient, words: list[str], record: list[str]
) -> None:
    client("XTRIM", "s", *words)
    assert client.effects() == [[b"XTRIM", b"s", *[word.encode() for word in record]]]


def test_the_record_of_an_approximate_trim_names_a_tombstone_if_it_comes_first(
    client: EngineClient,
) -> None:
    client("XDEL", "s", "4-0")
    client.effects()
    client("XTRIM", "s", "MINID", "~", "5-0")
    assert client.effects() == [[b"XTRIM", b"s", b"MINID", b"=", b"4-0"]]


def test_who_replays_the_record_ignores_its_limit(client: EngineClient) -> None:
    replica = EngineClient(stream_node_max_entries=100)
    fill(replica, "s", 10)
    replica.session.is_replaying = True
    client("XTRIM", "s", "MAXLEN", "~", "0", "LIMIT", "5")
    for record in client.effects():
        assert replica(*record) == 3
    assert live(replica) == live(client)


def test_nothing_removed_is_nothing_recorded_raised_or_disturbed(client: EngineClient) -> None:
    events = listen(client)
    watcher = client.new()
    for maxlen, outcome in (("10", ["PONG"]), ("4", None)):
        watcher("WATCH", "s")
        client("XTRIM", "s", "MAXLEN", maxlen)
        watcher("MULTI")
        watcher("PING")
        assert watcher("EXEC") == outcome
    assert events() == [(0, "xtrim", "s")]
    assert len(client.effects()) == 1


def test_it_wakes_nobody(client: EngineClient) -> None:
    reader = client.new()
    reader("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    client("XTRIM", "s", "MAXLEN", "0")
    assert reader.session.blocked is not None
