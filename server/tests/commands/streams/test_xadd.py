"""XADD: IDs, fields, options and their errors, and the stream afterwards."""

from __future__ import annotations

import pytest

from server.tests.support.keyspace_events import listen
from server.tests.support.replies import (
    BAD_ID,
    BOTH_STRATEGIES,
    LIMIT_ALONE,
    LIMIT_EXACT,
    NOT_AN_INTEGER,
    WRONGTYPE,
)
from server.tests.support.stream_client import stream_info
from testkit.engine_client import START_MS, EngineClient, ReplyError

TOP = 2**64 - 1
ARITY = ReplyError("ERR wrong number of arguments for 'xadd' command")
TOO_SMALL = ReplyError(
    "ERR The ID specified in XADD is equal or smaller than the target stream top item"
)
ZERO = ReplyError("ERR The ID specified in XADD must be greater than 0-0")
EXHAUSTED = ReplyError(
    "ERR The stream has exhausted the last possible ID, unable to add more items"
)


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def ids(client: EngineClient, key: str = "s") -> list[bytes]:
    return [entry[0] for entry in client("XRANGE", key, "-", "+")]


def fill(client: EngineClient, count: int) -> None:
    for n in range(1, count + 1):
        client("XADD", "s", f"{n}-0", "f", "v")
    client.effects()


# IDs


@pytest.mark.parametrize("protocol", ["2", "3"])
def test_it_answers_the_id_of_the_new_entry(client: EngineClient, protocol: str) -> None:
    client("HELLO", protocol)
    assert client.raw("XADD", "s", "5-7", "f", "v") == b"$3\r\n5-7\r\n"
    assert client("XRANGE", "s", "-", "+") == [[b"5-7", [b"f", b"v"]]]


def test_a_star_is_the_time_of_the_command(client: EngineClient) -> None:
    assert client("XADD", "s", "*", "f", "v") == b"%d-0" % START_MS
    assert client("XADD", "s", "*", "f", "v") == b"%d-1" % START_MS
    client.now_ms += 5
    assert client("XADD", "s", "*", "f", "v") == b"%d-0" % (START_MS + 5)


def test_a_clock_that_goes_back_never_lowers_the_id(client: EngineClient) -> None:
    client("XADD", "s", "*", "f", "v")
    client.now_ms -= 1000
    assert client("XADD", "s", "*", "f", "v") == b"%d-1" % START_MS
    client("XADD", "s", f"{2**63}-{TOP}", "f", "v")
    assert client("XADD", "s", "*", "f", "v") == b"%d-0" % (2**63 + 1)


def test_a_star_counts_on_from_the_last_id_not_from_the_last_entry(client: EngineClient) -> None:
    client("XADD", "s", f"{START_MS}-9", "f", "v")
    client("XDEL", "s", f"{START_MS}-9")
    assert client("XADD", "s", "*", "f", "v") == b"%d-10" % START_MS


def test_the_sequence_alone_can_be_left_to_the_stream(client: EngineClient) -> None:
    assert client("XADD", "s", "0-*", "f", "v") == b"0-1"
    assert client("XADD", "s", "0-*", "f", "v") == b"0-2"
    assert client("XADD", "s", "7-*", "f", "v") == b"7-0"
    assert client("XADD", "s", "7-*", "f", "v") == b"7-1"
    assert client("XADD", "s", "6-*", "f", "v") == TOO_SMALL


def test_a_sequence_that_is_used_up_is_an_error(client: EngineClient) -> None:
    client("XADD", "s", f"7-{TOP}", "f", "v")
    assert client("XADD", "s", "7-*", "f", "v") == TOO_SMALL
    assert client("XADD", "s", "8-*", "f", "v") == b"8-0"


def test_an_id_without_sequence_has_sequence_zero(client: EngineClient) -> None:
    assert client("XADD", "s", "123", "f", "v") == b"123-0"
    assert client("XADD", "s", "00124", "f", "v") == b"124-0"


@pytest.mark.parametrize("small", ["5-5", "5-4", "5", "4-9", "0-1"])
def test_an_id_must_be_above_the_last(client: EngineClient, small: str) -> None:
    client("XADD", "s", "5-5", "f", "v")
    assert client("XADD", "s", small, "f", "v") == TOO_SMALL
    client("XDEL", "s", "5-5")
    assert client("XADD", "s", small, "f", "v") == TOO_SMALL


@pytest.mark.parametrize("zero", ["0-0", "0", "00-000"])
def test_the_smallest_id_is_no_entry_and_makes_no_key(client: EngineClient, zero: str) -> None:
    assert client("XADD", "s", zero, "f", "v") == ZERO
    assert client("EXISTS", "s") == 0


@pytest.mark.parametrize("any_id", ["*", f"{TOP}-*", f"{TOP}-{TOP}", "1-1"])
def test_behind_the_largest_id_nothing_fits(client: EngineClient, any_id: str) -> None:
    client("XADD", "s", f"{TOP}-{TOP}", "f", "v")
    assert client("XADD", "s", any_id, "f", "v") == EXHAUSTED
    client("XDEL", "s", f"{TOP}-{TOP}")
    assert client("XADD", "s", any_id, "f", "v") == EXHAUSTED


@pytest.mark.parametrize(
    "bad",
    [
        *("", "x", "-", "+", "$", ">", "1-", "-1", "1-x", "1-2-3", "1-2-*", "*-1", "**", "1-**"),
        *("18446744073709551616", "(1", "-*", "0" * 128, "0" * 126 + "-*", "1-+*"),
    ],
)
def test_anything_else_is_no_id(client: EngineClient, bad: str) -> None:
    assert client("XADD", "s", bad, "f", "v") == BAD_ID
    assert client("EXISTS", "s") == 0


def test_a_long_id_is_fine_up_to_127_bytes(client: EngineClient) -> None:
    assert client("XADD", "s", "0" * 124 + "5-*", "f", "v") == b"5-0"
    assert client("XADD", "s", "0" * 126 + "6", "f", "v") == b"6-0"


# Fields


def test_order_duplicates_and_empty_words_are_kept(client: EngineClient) -> None:
    flat = [b"b", b"1", b"a", b"2", b"b", b"3", b"", b"", b"\x00\r\n", b"\xff"]
    client("XADD", "s", "1-0", *flat)
    assert client("XRANGE", "s", "-", "+") == [[b"1-0", flat]]


@pytest.mark.parametrize(
    "text",
    [
        *(
            b"0",
            b"-0",
            b"007",
            b"+1",
            b"127",
            b"128",
            b"-1",
            b"4095",
            b"-4096",
            b"32768",
            b"8388608",
        ),
        *(b"2147483648", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808"),
        *(b"x" * 63, b"x" * 64, b"x" * 4095, b"x" * 4096, b"x" * 20_000, b"1.5", b" 1"),
    ],
)
def test_a_word_comes_back_as_it_went_in(client: EngineClient, text: bytes) -> None:
    client("XADD", "s", "1-0", text, text)
    client("XADD", "s", "2-0", text, text, "other", text)
    expected = b"$%d\r\n%b\r\n" % (len(text), text)
    assert client.raw("XRANGE", "s", "1", "1") == b"*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n" + 2 * expected
    assert client("XRANGE", "s", "2", "2") == [[b"2-0", [text, text, b"other", text]]]


@pytest.mark.parametrize("pairs", [["f"], ["f", "v", "g"], ["a", "b", "c", "d", "e"]])
def test_fields_without_values_are_an_arity_error(client: EngineClient, pairs: list[str]) -> None:
    assert client("XADD", "s", "1-0", *pairs) == ARITY
    assert client("XADD", "s", "NOMKSTREAM", "1-0", *pairs) == ARITY
    assert client("EXISTS", "s") == 0


def test_too_few_words_are_an_arity_error(client: EngineClient) -> None:
    for words in (["XADD"], ["XADD", "s", "*"], ["XADD", "s", "*", "f"]):
        assert client(*words) == ARITY
    assert client("XADD", "s", "MAXLEN", "5", "*") == ARITY


def test_a_thousand_fields_are_fine(client: EngineClient) -> None:
    flat = [word for n in range(1000) for word in (b"field-%d" % n, b"%d" % n)]
    for n in range(1, 4):
        client("XADD", "s", f"{n}-0", *flat)
    assert client("XRANGE", "s", "2", "2") == [[b"2-0", flat]]


# The order of checks


def test_words_and_id_are_checked_before_pairs_zero_and_type(client: EngineClient) -> None:
    client("SET", "str", "v")
    assert client("XADD", "str", "bad", "f") == ARITY  # the table's own count comes first
    assert client("XADD", "str", "bad", "f", "v", "g") == BAD_ID
    assert client("XADD", "str", "0-0", "f", "v", "g") == ARITY
    assert client("XADD", "str", "0-0", "f", "v") == ZERO
    assert client("XADD", "str", "NOMKSTREAM", "1-1", "f", "v") == WRONGTYPE


def test_a_failed_command_leaves_nothing_behind(client: EngineClient) -> None:
    fill(client, 3)
    for words in (
        ["1-0", "f", "v"],
        ["MAXLEN", "0", "2-0", "f", "v"],
        ["MAXLEN", "x", "*", "f", "v"],
    ):
        assert isinstance(client("XADD", "s", *words), ReplyError)
    assert ids(client) == [b"1-0", b"2-0", b"3-0"]
    assert client.effects() == []


# NOMKSTREAM


def test_nomkstream_makes_no_stream(client: EngineClient) -> None:
    assert client.raw("XADD", "s", "NOMKSTREAM", "*", "f", "v") == b"$-1\r\n"
    client("HELLO", "3")
    assert client.raw("XADD", "s", "nomkstream", "*", "f", "v") == b"_\r\n"
    assert (client("EXISTS", "s"), client.effects()) == (0, [])


def test_nomkstream_adds_to_a_stream_that_is_there(client: EngineClient) -> None:
    fill(client, 1)
    client("XDEL", "s", "1-0")
    assert client("XADD", "s", "NOMKSTREAM", "2-0", "f", "v") == b"2-0"


# Trimming


def test_maxlen_and_minid_trim_after_the_entry_was_added(client: EngineClient) -> None:
    fill(client, 5)
    client("XADD", "s", "MAXLEN", "3", "6-0", "f", "v")
    assert ids(client) == [b"4-0", b"5-0", b"6-0"]
    client("XADD", "s", "MINID", "=", "6", "7-0", "f", "v")
    assert ids(client) == [b"6-0", b"7-0"]
    client("XADD", "s", "maxlen", "=", "1", "8-0", "f", "v")
    assert ids(client) == [b"8-0"]


@pytest.mark.parametrize("trim", [["MAXLEN", "0"], ["MINID", "100"], ["MAXLEN", "~", "0"]])
def test_even_the_new_entry_can_be_trimmed(client: EngineClient, trim: list[str]) -> None:
    assert client("XADD", "s", *trim, "5-0", "f", "v") == b"5-0"
    assert (client("XLEN", "s"), client("EXISTS", "s")) == (0, 1)
    assert client("XADD", "s", "5-0", "f", "v") == TOO_SMALL


def test_an_approximate_trim_takes_whole_nodes(client: EngineClient) -> None:
    client.configure(stream_node_max_entries=3)
    fill(client, 8)
    client("XADD", "s", "MAXLEN", "~", "7", "9-0", "f", "v")
    assert client("XLEN", "s") == 9
    client("XADD", "s", "MAXLEN", "~", "7", "10-0", "f", "v")
    assert client("XLEN", "s") == 7


def test_a_limit_bounds_an_approximate_trim(client: EngineClient) -> None:
    client.configure(stream_node_max_entries=3)
    fill(client, 8)
    client("XADD", "s", "MAXLEN", "~", "0", "LIMIT", "2", "9-0", "f", "v")
    assert client("XLEN", "s") == 9
    client("XADD", "s", "LIMIT", "5", "MAXLEN", "~", "0", "10-0", "f", "v")
    assert client("XLEN", "s") == 7
    client("XADD", "s", "MAXLEN", "~", "0", "LIMIT", "0", "11-0", "f", "v")
    assert client("XLEN", "s") == 0


def test_policies_apply_to_what_is_trimmed(client: EngineClient) -> None:
    fill(client, 3)
    client("XGROUP", "CREATE", "s", "g", "0")
    client("XREADGROUP", "GROUP", "g", "c", "STREAMS", "s", ">")
    client("XACK", "s", "g", "2-0")
    client("XADD", "s", "ACKED", "MAXLEN", "0", "4-0", "f", "v")
    assert ids(client) == [b"1-0", b"3-0", b"4-0"]
    client("XADD", "s", "MAXLEN", "2", "delref", "5-0", "f", "v")
    assert client("XPENDING", "s", "g")[:1] == [0]
    client("XADD", "s", "KEEPREF", "MAXLEN", "1", "6-0", "f", "v")
    assert ids(client) == [b"6-0"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["MAXLEN", "-1"], ReplyError("ERR The MAXLEN argument must be >= 0.")),
        (["MAXLEN", "~", "-1"], ReplyError("ERR The MAXLEN argument must be >= 0.")),
        (["MAXLEN", "x"], NOT_AN_INTEGER),
        (["MAXLEN", "=", "+1"], NOT_AN_INTEGER),
        (["MAXLEN", "9223372036854775808"], NOT_AN_INTEGER),
        (["MINID", "x"], BAD_ID),
        (["MINID", "~", "-"], BAD_ID),
        (["MINID", "(5"], BAD_ID),
        (["MAXLEN", "1", "MINID", "1"], BOTH_STRATEGIES),
        (["MINID", "1", "MAXLEN", "x"], BOTH_STRATEGIES),
        (["MAXLEN", "1", "MAXLEN", "1"], BOTH_STRATEGIES),
        (["MAXLEN", "~", "1", "LIMIT", "-1"], ReplyError("ERR The LIMIT argument must be >= 0.")),
        (["MAXLEN", "~", "1", "LIMIT", "x"], NOT_AN_INTEGER),
        (["LIMIT", "5"], LIMIT_ALONE),
        (["LIMIT", "0"], LIMIT_EXACT),
        (["MAXLEN", "1", "LIMIT", "5"], LIMIT_EXACT),
        (["MAXLEN", "=", "1", "LIMIT", "0"], LIMIT_EXACT),
        (["MINID", "1", "LIMIT", "5"], LIMIT_EXACT),
        (["FOO"], BAD_ID),
        (["KEEPREF", "DELREF"], BAD_ID),
        (["ACKED", "ACKED"], BAD_ID),
        (["~"], BAD_ID),
    ],
)
def test_each_mistake_in_the_options_has_its_error(
    client: EngineClient, words: list[str], error: ReplyError
) -> None:
    assert client("XADD", "s", *words, "*", "f", "v") == error
    assert client("EXISTS", "s") == 0


def test_an_option_without_its_value_is_read_as_the_id(client: EngineClient) -> None:
    for word in ("MAXLEN", "MINID", "LIMIT", "IDMPAUTO", "IDMP"):
        assert client("XADD", "s", "NOMKSTREAM", "KEEPREF", word) == BAD_ID
    assert client("XADD", "s", "NOMKSTREAM", "IDMP", "p") == BAD_ID


# Its effects


def test_the_record_holds_the_id_that_was_chosen(client: EngineClient) -> None:
    client("XADD", "s", "*", "f", "v")
    client("XADD", "s", "9999999-*", "f", "v")
    client("XADD", "s", "10000000-5", "f", "v")
    client("XADD", "s", "NOMKSTREAM", "MAXLEN", "1", "10000001-*", "f", "v")
    assert client.effects() == [
        [b"XADD", b"s", b"%d-0" % START_MS, b"f", b"v"],
        [b"XADD", b"s", b"9999999-0", b"f", b"v"],
        [b"XADD", b"s", b"10000000-5", b"f", b"v"],
        [b"XADD", b"s", b"NOMKSTREAM", b"MAXLEN", b"1", b"10000001-0", b"f", b"v"],
    ]


def test_the_record_of_an_approximate_trim_is_its_result(client: EngineClient) -> None:
    client.configure(stream_node_max_entries=3)
    fill(client, 7)
    client("XADD", "s", "MAXLEN", "~", "5", "LIMIT", "100", "8-*", "f", "v")
    client("XADD", "s", "MINID", "~", "8-3", "9-0", "f", "v")
    client("XADD", "s", "MINID", "~", "99", "10-0", "f", "v")
    tail = [b"f", b"v"]
    assert client.effects() == [
        [b"XADD", b"s", b"MAXLEN", b"=", b"5", b"LIMIT", b"100", b"8-0", *tail],
        [b"XADD", b"s", b"MINID", b"=", b"7-0", b"9-0", *tail],
        [b"XADD", b"s", b"MINID", b"=", b"99-0", b"10-0", *tail],
    ]
    assert client("XLEN", "s") == 0


def test_events_are_new_then_xadd_then_xtrim(client: EngineClient) -> None:
    events = listen(client, "EAn")
    client("XADD", "s", "1-0", "f", "v")
    assert [event for _, event, _ in events()] == ["new", "xadd"]
    client("XADD", "s", "MAXLEN", "5", "2-0", "f", "v")
    assert events() == [(0, "xadd", "s")]
    client("XADD", "s", "MAXLEN", "1", "3-0", "f", "v")
    assert [event for _, event, _ in events()] == ["xadd", "xtrim"]
    client("XADD", "s", "3-0", "f", "v")
    client("XADD", "t", "NOMKSTREAM", "1-0", "f", "v")
    assert events() == []


def test_an_entry_disturbs_who_watches_the_key(client: EngineClient) -> None:
    watcher = client.new()
    for key, words, outcome in (
        ("s", ["1-0", "f", "v"], None),
        ("s", ["1-0", "f", "v"], ["PONG"]),
        ("t", ["NOMKSTREAM", "1-0", "f", "v"], ["PONG"]),
    ):
        watcher("WATCH", key)
        client("XADD", key, *words)
        watcher("MULTI")
        watcher("PING")
        assert watcher("EXEC") == outcome


def test_the_stream_counts_all_entries_ever_added(client: EngineClient) -> None:
    fill(client, 5)
    client("XADD", "s", "MAXLEN", "2", "6-0", "f", "v")
    info = stream_info(client)
    assert info[b"entries-added"] == 6
    assert info[b"recorded-first-entry-id"] == b"5-0"
    assert info[b"max-deleted-entry-id"] == b"0-0"
