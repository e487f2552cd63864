"""MAXCOUNT and MAXSIZE of XREAD and XREADGROUP: bounds on the whole reply."""

from __future__ import annotations

import pytest

from server.tests.support.replies import NOT_AN_INTEGER, SYNTAX
from testkit.engine_client import BLOCKED, EngineClient, ReplyError

GROUP = ("XREADGROUP", "GROUP", "g", "c")
KEYS = ("STREAMS", "a", "b", "c")


@pytest.fixture
def client() -> EngineClient:
    """Streams a, b, c with 1-0 to 4-0 each, and a group g on all of them."""
    client = EngineClient()
    for key in "abc":
        client("XGROUP", "CREATE", key, "g", "0", "MKSTREAM")
        for n in range(1, 5):
            client("XADD", key, f"{n}-0", "f", "v")
    client.effects()
    return client


def counts(reply: object) -> dict[str, int]:
    """How many entries came from each stream."""
    assert isinstance(reply, list)
    return {key.decode(): len(entries) for key, entries in reply}


def pending(client: EngineClient, key: str) -> int:
    total = client("XPENDING", key, "g")[0]
    assert isinstance(total, int)
    return total


# MAXCOUNT


@pytest.mark.parametrize(
    ("maxcount", "expected"),
    [
        ("1", {"a": 1}),
        ("4", {"a": 4}),
        ("5", {"a": 4, "b": 1}),
        ("12", {"a": 4, "b": 4, "c": 4}),
        ("9223372036854775807", {"a": 4, "b": 4, "c": 4}),
    ],
)
def test_streams_are_filled_in_their_order(
    client: EngineClient, maxcount: str, expected: dict[str, int]
) -> None:
    assert counts(client("XREAD", "MAXCOUNT", maxcount, *KEYS, "0", "0", "0")) == expected
    assert counts(client(*GROUP, "MAXCOUNT", maxcount, *KEYS, ">", ">", ">")) == expected
    for key in "abc":
        assert pending(client, key) == expected.get(key, 0)


def test_count_bounds_each_stream_within_it(client: EngineClient) -> None:
    words = ["COUNT", "2", "MAXCOUNT", "5"]
    assert counts(client("XREAD", *words, *KEYS, "0", "0", "0")) == {"a": 2, "b": 2, "c": 1}
    words = ["MAXCOUNT", "3", "COUNT", "3"]
    assert counts(client(*GROUP, *words, *KEYS, ">", ">", ">")) == {"a": 3}


def test_the_last_entry_counts_too(client: EngineClient) -> None:
    assert counts(client("XREAD", "MAXCOUNT", "2", *KEYS, "+", "+", "+")) == {"a": 1, "b": 1}


def test_history_counts_too(client: EngineClient) -> None:
    client(*GROUP, *KEYS, ">", ">", ">")
    assert counts(client(*GROUP, "MAXCOUNT", "6", *KEYS, "0", "0", "0")) == {"a": 4, "b": 2}


def test_claimed_entries_count_too(client: EngineClient) -> None:
    client(*GROUP, "COUNT", "2", "STREAMS", "a", "b", ">", ">")
    words = ["CLAIM", "0", "MAXCOUNT", "5"]
    assert counts(client(*GROUP, *words, *KEYS, ">", ">", ">")) == {"a": 4, "b": 1}
    assert (pending(client, "a"), pending(client, "b"), pending(client, "c")) == (4, 2, 0)


def test_it_holds_after_a_wait(client: EngineClient) -> None:
    reader = client.new()
    words = ["XREAD", "MAXCOUNT", "3", "BLOCK", "0", *KEYS, "$", "$", "$"]
    assert reader(*words) is BLOCKED
    client("MULTI")
    for n in (5, 6):
        for key in "ab":
            client("XADD", key, f"{n}-0", "f", "v")
    client("EXEC")
    assert counts(reader.read()) == {"a": 2, "b": 1}


# MAXSIZE


def entry_bytes(client: EngineClient) -> int:
    """The size of one entry of the fixture in a reply."""
    return len(client.raw("XRANGE", "a", "1", "1")) - len(b"*1\r\n")


def test_the_first_entry_always_fits(client: EngineClient) -> None:
    assert counts(client("XREAD", "MAXSIZE", "1", *KEYS, "0", "0", "0")) == {"a": 1}
    assert counts(client(*GROUP, "MAXSIZE", "1", *KEYS, ">", ">", ">")) == {"a": 1}
    assert pending(client, "a") == 1


@pytest.mark.parametrize("protocol", ["2", "3"])
def test_an_entry_is_begun_as_long_as_the_size_is_not_reached(
    client: EngineClient, protocol: str
) -> None:
    client("HELLO", protocol)
    size = entry_bytes(client)
    for entries in (1, 2, 3, 4):
        # The bytes before the entries: the two array heads, and the key.
        whole = len(client.raw("XREAD", "COUNT", str(entries), "STREAMS", "a", "0"))
        reached = client("XREAD", "MAXSIZE", str(whole), "STREAMS", "a", "0")
        short = client("XREAD", "MAXSIZE", str(whole - size + 1), "STREAMS", "a", "0")
        rows = [next(iter(dict(reply).values())) for reply in (reached, short)]
        assert [len(row) for row in rows] == [entries, entries]


def test_what_is_left_over_stays_unread(client: EngineClient) -> None:
    size = str(3 * entry_bytes(client))
    seen: list[bytes] = []
    while (reply := client(*GROUP, "MAXSIZE", size, "STREAMS", "a", ">")) is not None:
        assert 1 <= len(reply[0][1]) <= 3
        seen += [entry[0] for entry in reply[0][1]]
    assert seen == [b"1-0", b"2-0", b"3-0", b"4-0"]


def test_the_size_counts_over_streams_history_and_claims(client: EngineClient) -> None:
    size = str(6 * entry_bytes(client))
    assert 5 <= sum(counts(client("XREAD", "MAXSIZE", size, *KEYS, "0", "0", "0")).values()) <= 6
    client(*GROUP, *KEYS, ">", ">", ">")
    history = counts(client(*GROUP, "MAXSIZE", size, *KEYS, "0", "0", "0"))
    assert 5 <= sum(history.values()) <= 6 and set(history) == {"a", "b"}
    claimed = counts(client(*GROUP, "CLAIM", "0", "MAXSIZE", size, *KEYS, ">", ">", ">"))
    assert 4 <= sum(claimed.values()) <= 6 and "c" not in claimed


def test_earlier_replies_of_a_transaction_do_not_count(client: EngineClient) -> None:
    client("MULTI")
    client("XRANGE", "a", "-", "+")
    client("XREAD", "MAXSIZE", str(2 * entry_bytes(client.new())), "STREAMS", "a", "0")
    alone, limited = client("EXEC")
    assert len(alone) == 4
    assert counts(limited) == {"a": 2}


def test_both_limits_hold_together(client: EngineClient) -> None:
    words = ["MAXCOUNT", "2", "MAXSIZE", "100000"]
    assert counts(client("XREAD", *words, *KEYS, "0", "0", "0")) == {"a": 2}
    words = ["MAXCOUNT", "10", "MAXSIZE", "1"]
    assert counts(client("XREAD", *words, *KEYS, "0", "0", "0")) == {"a": 1}


# Errors


@pytest.mark.parametrize("word", ["MAXCOUNT", "MAXSIZE", "maxcount"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "", "1.5", "9223372036854775808"])
def test_a_limit_is_a_positive_number(client: EngineClient, word: str, value: str) -> None:
    error = ReplyError(f"ERR {word.upper()} must be a positive integer")
    expected = error if value in ("0", "-1") else NOT_AN_INTEGER
    assert client("XREAD", word, value, "STREAMS", "a", "0") == expected
    assert client(*GROUP, word, value, "STREAMS", "a", ">") == expected


def test_maxcount_below_count_is_refused(client: EngineClient) -> None:
    error = ReplyError("ERR MAXCOUNT must be greater than or equal to COUNT")
    assert client("XREAD", "COUNT", "5", "MAXCOUNT", "4", "STREAMS", "a", "0") == error
    assert client("XREAD", "MAXCOUNT", "4", "COUNT", "5", "STREAMS", "a", "0") == error
    for count in ("4", "0", "-5"):
        reply = client("XREAD", "MAXCOUNT", "4", "COUNT", count, "STREAMS", "a", "0")
        assert counts(reply) == {"a": 4}


def test_a_limit_without_value_is_a_syntax_error(client: EngineClient) -> None:
    assert client("XREAD", "COUNT", "1", "MAXSIZE") == SYNTAX
    assert client("XREAD", "COUNT", "1", "MAXCOUNT") == SYNTAX
