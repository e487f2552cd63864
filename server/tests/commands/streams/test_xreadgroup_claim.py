"""XREADGROUP with CLAIM: entries pending too long come before new ones."""

from __future__ import annotations

from typing import Any

import pytest

from testkit.engine_client import BLOCKED, START_MS, EngineClient

MAX_COUNT = 2**63 - 1


@pytest.fixture
def client() -> EngineClient:
    """Entries 1-0 to 6-0; alice has 1 and 2 for 200 ms, bob has 3 for 100 ms."""
    client = EngineClient()
    client("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for n in range(1, 7):
        client("XADD", "s", f"{n}-0", "f", f"{n}")
    read(client, "COUNT", "2", who="alice")
    client.now_ms += 100
    read(client, "COUNT", "1", who="bob")
    client.now_ms += 100
    client.effects()
    return client


def read(client: EngineClient, *options: str, who: str = "carol") -> Any:
    return client("XREADGROUP", "GROUP", "g", who, *options, "STREAMS", "s", ">")


def claim(client: EngineClient, min_idle: int, *options: str, who: str = "carol") -> list[Any]:
    """The returned entries: (ID, idle, previous deliveries)."""
    reply = read(client, "CLAIM", str(min_idle), *options, who=who)
    return [] if reply is None else [(e[0].decode(), e[2], e[3]) for e in reply[0][1]]


def owners(client: EngineClient) -> list[tuple[str, str, int, int]]:
    rows = client("XPENDING", "s", "g", "-", "+", "100")
    return [(row[0].decode(), row[1].decode(), row[2], row[3]) for row in rows]


def test_every_entry_has_four_elements(client: EngineClient) -> None:
    words = ["XREADGROUP", "GROUP", "g", "c", "CLAIM", "150", "COUNT", "3", "STREAMS", "s", ">"]
    claimed = b"*4\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\n1\r\n:200\r\n:1\r\n"
    second = claimed.replace(b"1-0", b"2-0").replace(b"$1\r\n1\r\n", b"$1\r\n2\r\n")
    new = b"*4\r\n$3\r\n4-0\r\n*2\r\n$1\r\nf\r\n$1\r\n4\r\n:0\r\n:0\r\n"
    assert client.raw(*words) == b"*1\r\n*2\r\n$1\r\ns\r\n*3\r\n" + claimed + second + new


def test_entries_of_one_millisecond_come_in_the_order_of_their_last_delivery(
    client: EngineClient,
) -> None:
    for n in (3, 1, 2):
        client("XCLAIM", "s", "g", "bob", "0", f"{n}-0", "TIME", "5000", "JUSTID")
    read(client, who="bob")
    client.now_ms += 100
    idle_ms = client.now_ms - 5000
    assert claim(client, 100) == [
        *((f"{n}-0", idle_ms, 1) for n in (3, 1, 2)),
        *((f"{n}-0", 100, 1) for n in (4, 5, 6)),
    ]
    client.now_ms += 50
    assert [entry[0] for entry in claim(client, 50)] == [f"{n}-0" for n in (3, 1, 2, 4, 5, 6)]


def test_in_resp3_the_reply_is_a_map(client: EngineClient) -> None:
    client("HELLO", "3")
    words = ["XREADGROUP", "GROUP", "g", "c", "CLAIM", "150", "COUNT", "1", "STREAMS", "s", ">"]
    claimed = b"*4\r\n$3\r\n1-0\r\n*2\r\n$1\r\nf\r\n$1\r\n1\r\n:200\r\n:1\r\n"
    assert client.raw(*words) == b"%1\r\n$1\r\ns\r\n*1\r\n" + claimed


@pytest.mark.parametrize(
    ("min_idle", "expected"),
    [
        (0, [("1-0", 200, 1), ("2-0", 200, 1), ("3-0", 100, 1)]),
        (100, [("1-0", 200, 1), ("2-0", 200, 1), ("3-0", 100, 1)]),
        (101, [("1-0", 200, 1), ("2-0", 200, 1)]),
        (200, [("1-0", 200, 1), ("2-0", 200, 1)]),
        (201, []),
        (MAX_COUNT, []),
    ],
)
def test_entries_idle_long_enough_come_first(
    client: EngineClient, min_idle: int, expected: list[tuple[str, int, int]]
) -> None:
    new = [(f"{n}-0", 0, 0) for n in (4, 5, 6)]
    assert claim(client, min_idle) == expected + new


def test_they_change_hands_and_count_one_more(client: EngineClient) -> None:
    claim(client, 150, "COUNT", "2")
    assert owners(client) == [
        ("1-0", "carol", 0, 2),
        ("2-0", "carol", 0, 2),
        ("3-0", "bob", 100, 1),
    ]


def test_a_consumer_claims_from_itself_too(client: EngineClient) -> None:
    assert claim(client, 150, "COUNT", "1", who="alice") == [("1-0", 200, 1)]
    assert owners(client)[0] == ("1-0", "alice", 0, 2)


def test_the_oldest_delivery_comes_first(client: EngineClient) -> None:
    client.now_ms += 10
    client("XCLAIM", "s", "g", "alice", "0", "1-0")
    client.now_ms += 10
    assert claim(client, 0, "COUNT", "3") == [("2-0", 220, 1), ("3-0", 120, 1), ("1-0", 10, 2)]


def test_count_covers_claimed_and_new_together(client: EngineClient) -> None:
    assert [row[0] for row in claim(client, 0, "COUNT", "4")] == ["1-0", "2-0", "3-0", "4-0"]
    client.now_ms += 10
    assert [row[0] for row in claim(client, 5, "COUNT", "1")] == ["1-0"]


def test_only_claimable_entries_are_an_answer_too(client: EngineClient) -> None:
    read(client)
    client.now_ms += 50
    assert [row[0] for row in claim(client, 200)] == ["1-0", "2-0"]
    assert read(client, "CLAIM", "200") is None


def test_entries_that_are_gone_are_skipped_and_stay_pending(client: EngineClient) -> None:
    client("XDEL", "s", "1-0", "3-0")
    assert [row[0] for row in claim(client, 0, "COUNT", "2")] == ["2-0", "4-0"]
    assert [row[:2] for row in owners(client)] == [
        ("1-0", "alice"),
        ("2-0", "carol"),
        ("3-0", "bob"),
        ("4-0", "carol"),
    ]


def test_released_entries_come_first_in_the_order_of_their_release(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "2", "3-0", "2-0")
    now = client.now_ms
    assert claim(client, 0, "COUNT", "3") == [("3-0", now, 1), ("2-0", now, 1), ("1-0", 200, 1)]


def test_an_absurd_idle_time_does_not_match_released_entries(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "1-0")
    assert claim(client, client.now_ms + 1, "COUNT", "1") == [("4-0", 0, 0)]
    assert claim(client, client.now_ms, "COUNT", "1") == [("1-0", client.now_ms, 1)]


def test_the_delivery_count_stops_at_its_largest_value(client: EngineClient) -> None:
    client("XNACK", "s", "g", "FATAL", "IDS", "1", "1-0")
    assert claim(client, 0, "COUNT", "1") == [("1-0", client.now_ms, MAX_COUNT)]
    assert owners(client)[0] == ("1-0", "carol", 0, MAX_COUNT)


def test_noack_speaks_only_of_new_entries(client: EngineClient) -> None:
    rows = claim(client, 150, "NOACK")
    assert [row[0] for row in rows] == ["1-0", "2-0", "4-0", "5-0", "6-0"]
    assert [row[:2] for row in owners(client)] == [
        ("1-0", "carol"),
        ("2-0", "carol"),
        ("3-0", "bob"),
    ]


def test_a_claim_is_activity(client: EngineClient) -> None:
    read(client)
    client.now_ms += 300
    claim(client, 0, "COUNT", "1", who="dave")
    client.now_ms += 7
    rows = {row[1]: row[7] for row in client("XINFO", "CONSUMERS", "s", "g")}
    assert rows[b"dave"] == 7


def test_history_ignores_it_and_switches_it_off_for_the_keys_behind(client: EngineClient) -> None:
    client("XGROUP", "CREATE", "t", "g", "0", "MKSTREAM")
    client("XADD", "t", "1-0", "f", "v")
    words = ["XREADGROUP", "GROUP", "g", "alice", "CLAIM", "0", "STREAMS"]
    first = client(*words, "s", "t", "0", ">")
    assert [[len(entry) for entry in entries] for _, entries in first] == [[2, 2], [2]]
    client("XADD", "t", "2-0", "f", "v")
    second = client(*words, "t", "s", ">", "0")
    assert [[len(entry) for entry in entries] for _, entries in second] == [[4, 4], [2, 2]]


def test_claims_of_one_count_are_one_record_and_new_entries_another(client: EngineClient) -> None:
    claim(client, 150, "COUNT", "3")
    now = b"%d" % client.now_ms
    tail = [b"FORCE", b"JUSTID", b"LASTID", b"3-0"]
    assert client.effects() == [
        [b"MULTI"],
        [*b"XCLAIM s g carol 0 1-0 2-0 TIME".split(), now, b"RETRYCOUNT", b"2", *tail],
        [*b"XCLAIM s g carol 0 4-0 TIME".split(), now, b"RETRYCOUNT", b"1", *tail],
        b"XGROUP SETID s g 4-0 ENTRIESREAD 4".split(),
        [b"EXEC"],
    ]


def test_without_new_entries_no_position_is_recorded(client: EngineClient) -> None:
    claim(client, 150, "COUNT", "1")
    assert [record[0] for record in client.effects()] == [b"XCLAIM"]


def test_replaying_the_records_gives_the_same_pending_entries(client: EngineClient) -> None:
    twin = EngineClient(now_ms=START_MS)
    client("XNACK", "s", "g", "FAIL", "IDS", "1", "3-0")
    records = client.effects()
    claim(client, 0)
    twin("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for n in range(1, 7):
        twin("XADD", "s", f"{n}-0", "f", f"{n}")
    twin("XREADGROUP", "GROUP", "g", "alice", "COUNT", "2", "STREAMS", "s", ">")
    twin.now_ms += 100
    twin("XREADGROUP", "GROUP", "g", "bob", "COUNT", "1", "STREAMS", "s", ">")
    twin.now_ms += 100
    for record in [*records, *client.effects()]:
        twin(*record)
    assert owners(twin) == owners(client)


# Waiting


def test_a_waiting_claim_is_served_when_an_entry_has_been_idle_long_enough(
    client: EngineClient,
) -> None:
    read(client)
    client.now_ms += 50
    reader = client.new()
    assert read(reader, "CLAIM", "400", "BLOCK", "0") is BLOCKED
    client.sleep(149)
    assert reader.read() is BLOCKED
    client.sleep(1)
    assert [entry[0] for entry in reader.read()[0][1]] == [b"1-0", b"2-0"]


def test_the_timer_passes_over_entries_that_are_gone(client: EngineClient) -> None:
    read(client)
    client("XDEL", "s", "1-0", "2-0")
    reader = client.new()
    assert read(reader, "CLAIM", "250", "BLOCK", "0") is BLOCKED
    client.sleep(149)
    assert reader.read() is BLOCKED
    client.sleep(1)
    assert [entry[0] for entry in reader.read()[0][1]] == [b"3-0"]


def test_with_several_readers_the_shortest_idle_time_rings_first(client: EngineClient) -> None:
    read(client)
    patient, hasty = client.new(), client.new()
    assert read(patient, "CLAIM", "1000", "BLOCK", "0", who="p") is BLOCKED
    assert read(hasty, "CLAIM", "300", "COUNT", "1", "BLOCK", "0", who="h") is BLOCKED
    client.sleep(100)
    assert [entry[0] for entry in hasty.read()[0][1]] == [b"1-0"]
    assert patient.read() is BLOCKED
    client.sleep(700)
    assert [entry[0] for entry in patient.read()[0][1]] == [b"2-0"]


def test_a_release_wakes_who_waits_to_claim(client: EngineClient) -> None:
    read(client)
    reader = client.new()
    assert read(reader, "CLAIM", "5000", "BLOCK", "0", who="r") is BLOCKED
    client.now_ms += 10
    client("XNACK", "s", "g", "SILENT", "IDS", "1", "2-0")
    assert reader.read() == [[b"s", [[b"2-0", [b"f", b"2"], client.now_ms, 0]]]]


def test_a_claim_that_times_out_is_a_null_array(client: EngineClient) -> None:
    read(client)
    reader = client.new()
    assert read(reader, "CLAIM", "100000", "BLOCK", "50") is BLOCKED
    client.sleep(50)
    assert reader.session.out.take() == b"*-1\r\n"


def test_with_nothing_pending_the_timer_looks_again_after_the_idle_time(
    client: EngineClient,
) -> None:
    read(client, "NOACK")
    client("XACK", "s", "g", "1-0", "2-0", "3-0")
    reader = client.new()
    assert read(reader, "CLAIM", "100", "BLOCK", "0") is BLOCKED
    client.sleep(1000)
    assert reader.read() is BLOCKED
    client("XADD", "s", "7-0", "f", "7")
    assert reader.read() == [[b"s", [[b"7-0", [b"f", b"7"], 0, 0]]]]


def test_a_wait_with_a_claim_keeps_its_deadline(client: EngineClient) -> None:
    read(client, "NOACK")
    client("XACK", "s", "g", "1-0", "2-0", "3-0")
    reader = client.new()
    assert read(reader, "CLAIM", "30", "BLOCK", "100") is BLOCKED
    client.sleep(99)
    assert reader.read() is BLOCKED
    client.sleep(1)
    assert reader.messages() == [None]


def test_an_idle_time_that_never_ends_does_not_keep_the_clock_busy(client: EngineClient) -> None:
    read(client)
    reader = client.new()
    assert read(reader, "CLAIM", str(MAX_COUNT), "BLOCK", "0") is BLOCKED
    assert client.engine.next_deadline_ms() > client.now_ms + 10**12
    client("XACK", "s", "g", *[f"{n}-0" for n in range(1, 7)])
    other = client.new()
    assert read(other, "CLAIM", str(MAX_COUNT), "BLOCK", "0", who="o") is BLOCKED
    assert client.engine.next_deadline_ms() > client.now_ms + 10**12
    client("XADD", "s", "7-0", "f", "7")
    assert reader.read() == [[b"s", [[b"7-0", [b"f", b"7"], 0, 0]]]]
