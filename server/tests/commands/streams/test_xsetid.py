"""XSETID: set a stream's last ID and counters."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import BAD_ID, NO_SUCH_KEY, NOT_AN_INTEGER, SYNTAX, WRONGTYPE
from server.tests.support.stream_client import stream_info
from testkit.engine_client import EngineClient, ReplyError

TOP = 2**64 - 1
NEGATIVE = ReplyError("ERR entries_added must be positive")
BELOW_GIVEN = ReplyError(
    "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id"
)
BELOW_DELETED = ReplyError(
    "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id"
)
BELOW_TOP = ReplyError("ERR The ID specified in XSETID is smaller than the target stream top item")
FEWER_THAN_THERE = ReplyError(
    "ERR The entries_added specified in XSETID is smaller than the target stream length"
)


@pytest.fixture
def client() -> EngineClient:
    client = EngineClient()
    for n in (1, 2, 3):
        client("XADD", "s", f"{n}-0", "f", "v")
    client.effects()
    return client


def state(client: EngineClient) -> tuple[object, object, object]:
    info = stream_info(client)
    return (
        info[b"last-generated-id"],
        info[b"entries-added"],
        info[b"max-deleted-entry-id"],
    )


def test_it_sets_the_last_id(client: EngineClient) -> None:
    assert client.raw("XSETID", "s", "9-5") == b"+OK\r\n"
    assert state(client) == (b"9-5", 3, b"0-0")
    assert client("XADD", "s", "9-*", "f", "v") == b"9-6"
    assert client("XSETID", "s", "20") == "OK"
    assert state(client)[0] == b"20-0"


def test_it_sets_the_counters_too_in_any_order_and_case(client: EngineClient) -> None:
    client("XSETID", "s", "9-0", "ENTRIESADDED", "7", "MAXDELETEDID", "4-0")
    assert state(client) == (b"9-0", 7, b"4-0")
    client("XSETID", "s", "9-0", "maxdeletedid", "8-1", "entriesadded", "3")
    assert state(client) == (b"9-0", 3, b"8-1")


def test_of_repeated_options_the_last_counts(client: EngineClient) -> None:
    client("XSETID", "s", "9", "ENTRIESADDED", "7", "ENTRIESADDED", "8", "MAXDELETEDID", "1",
           "MAXDELETEDID", "2")  # fmt: skip
    assert state(client) == (b"9-0", 8, b"2-0")


def test_a_greatest_deleted_id_of_zero_changes_nothing(client: EngineClient) -> None:
    client("XSETID", "s", "9", "MAXDELETEDID", "5")
    client("XSETID", "s", "9", "MAXDELETEDID", "0-0")
    assert state(client)[2] == b"5-0"


def test_the_last_id_may_fall_as_long_as_no_entry_is_above_it(client: EngineClient) -> None:
    client("XSETID", "s", "100")
    assert client("XSETID", "s", "3-0") == "OK"
    assert client("XSETID", "s", "2-9") == BELOW_TOP
    client("XDEL", "s", "3-0")
    assert client("XSETID", "s", "2-9") == BELOW_DELETED
    assert client("XSETID", "s", "3-0") == "OK"


def test_entries_added_is_not_checked_on_an_empty_stream(client: EngineClient) -> None:
    assert client("XSETID", "s", "9", "ENTRIESADDED", "2") == FEWER_THAN_THERE
    assert client("XSETID", "s", "9", "ENTRIESADDED", "3") == "OK"
    client("XTRIM", "s", "MAXLEN", "0")
    assert client("XSETID", "s", "0-0", "ENTRIESADDED", "0") == "OK"
    assert state(client) == (b"0-0", 0, b"0-0")
    assert client("XADD", "s", "0-1", "f", "v") == b"0-1"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["x"], BAD_ID),
        (["-"], BAD_ID),
        (["+"], BAD_ID),
        (["$"], BAD_ID),
        (["9", "ENTRIESADDED"], SYNTAX),
        (["9", "MAXDELETEDID"], SYNTAX),
        (["9", "FOO", "1"], SYNTAX),
        (["9", "5"], SYNTAX),
        (["9", "ENTRIESADDED", "x"], NOT_AN_INTEGER),
        (["9", "ENTRIESADDED", "9223372036854775808"], NOT_AN_INTEGER),
        (["9", "ENTRIESADDED", "-1"], NEGATIVE),
        (["9", "MAXDELETEDID", "+"], BAD_ID),
        (["9", "MAXDELETEDID", "9-1"], BELOW_GIVEN),
        (["1-0"], BELOW_TOP),
        (["1-0", "ENTRIESADDED", "0"], BELOW_TOP),
    ],
)
def test_each_mistake_has_its_error(
    client: EngineClient, words: list[str], error: ReplyError
) -> None:
    assert client("XSETID", "s", *words) == error
    assert state(client) == (b"3-0", 3, b"0-0")
    assert client.effects() == []


def test_words_are_checked_before_the_key(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XSETID", "none", "x") == BAD_ID
    assert client("XSETID", "none", "9", "MAXDELETEDID", "10") == BELOW_GIVEN
    assert client("XSETID", "none", "9") == NO_SUCH_KEY
    assert client("XSETID", "str", "9", "FOO") == SYNTAX
    assert client("XSETID", "str", "9") == WRONGTYPE
    arity = ReplyError("ERR wrong number of arguments for 'xsetid' command")
    assert client("XSETID", "s") == arity


def test_counters_end_at_the_largest_number_that_can_be_told(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XSETID", "s", "9", "ENTRIESADDED", str(2**63 - 2))
    for _ in range(3):
        client("XADD", "s", "*", "f", "v")
    assert state(client)[1] == 2**63 - 1
    client.effects()
    client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    client("XADD", "s", "*", "f", "v")
    client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    # A record that no server could read back would be worse than a counter that stops.
    records = [record for record in client.effects() if record[:2] == [b"XGROUP", b"SETID"]]
    assert [record[-1] for record in records] == [b"%d" % (2**63 - 1)] * 2
    assert client("XINFO", "GROUPS", "s")[0][9] == 2**63 - 1


def test_the_largest_id_leaves_no_room_for_entries(client: EngineClient) -> None:
    client("XSETID", "s", f"{TOP}-{TOP}")
    error = client("XADD", "s", "*", "f", "v")
    assert str(error).startswith("ERR The stream has exhausted the last possible ID")


def test_it_is_recorded_as_it_came_and_raises_an_event(client: EngineClient) -> None:
    events = listen(client)
    client("XSETID", "s", "9-0", "ENTRIESADDED", "7", "MAXDELETEDID", "4-0")
    assert client.effects() == [
        [b"XSETID", b"s", b"9-0", b"ENTRIESADDED", b"7", b"MAXDELETEDID", b"4-0"]
    ]
    assert events() == [(0, "xsetid", "s")]


def test_it_does_not_disturb_who_watches(client: EngineClient) -> None:
    watcher = client.new()
    watcher("WATCH", "s")
    client("XSETID", "s", "9-0")
    watcher("MULTI")
    watcher("XLEN", "s")
    assert watcher("EXEC") == [3]


def test_it_wakes_nobody(client: EngineClient) -> None:
    reader = client.new()
    reader("XREAD", "BLOCK", "0", "STREAMS", "s", "$")
    client("XSETID", "s", "9-0")
    assert reader.session.blocked is not None
