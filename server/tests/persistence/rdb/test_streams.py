"""Streams in hand-made payloads: every rule of the loader, one fault at a time.

The CVE that these rules close (a pending entry with two owners) is among them.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from forebay.core import check, ids
from forebay.core.group import Group
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb.payload import restore
from forebay.persistence.rdb.stream_extra import IdmpState
from testkit.rdb_files import ConsumerPart, GroupPart, StreamBody, body_of, payload_of

TYPES = [15, 19, 21, 26, 27]
PENDING = [((2, 0), 500, 1), ((3, 0), 600, 2), ((5, 0), 700, 3)]


def small_stream() -> Stream:
    """Seven entries in nodes of three; entry 4-0 is deleted."""
    stream = Stream()
    for n in range(1, 8):
        fields = [b"f", b"%d" % n] if n % 3 else [b"other", b"text %d" % n, b"g", b"x" * 200]
        stream.add(n, 0, fields, node_entries=3)
    stream.delete(4, 0)
    return stream


def group_part(**changes: Any) -> GroupPart:
    """Three pending entries: two of alice's, one of bob's."""
    alice = ConsumerPart(b"alice", 1000, 900, [(2, 0), (5, 0)])
    bob = ConsumerPart(b"bob", 2000, 800, [(3, 0)])
    part = GroupPart(b"g", (5, 0), 4, list(PENDING), [alice, bob])
    for name, value in changes.items():
        setattr(part, name, value)
    return part


def whole_body(kind: int = 27) -> StreamBody:
    """A sound stream with a group."""
    return body_of(small_stream(), kind).but(groups=[group_part()])


def taken(body: StreamBody) -> Stream:
    """The stream of a payload, which must be accepted and sound."""
    stream = restore(payload_of(body))
    assert isinstance(stream, Stream)
    check.check_stream(stream)
    return stream


def refused(body: StreamBody) -> str:
    """The error of a payload that is refused."""
    with pytest.raises(CorruptDataError, match=r"at offset \d+") as caught:
        restore(payload_of(body))
    return str(caught.value)


def only_group(stream: Stream) -> Group:
    group: Group = stream.groups.find(b"g")
    return group


# Accepted payloads


@pytest.mark.parametrize("kind", TYPES)
def test_a_sound_stream_is_taken_in_every_type(kind: int) -> None:
    stream = taken(whole_body(kind))
    assert stream.range() == small_stream().range()
    assert (stream.first_ms, stream.last_ms, stream.length) == (1, 7, 6)
    group = only_group(stream)
    assert (group.last_ms, group.pending.count) == (5, 3)
    slot = group.pending.find(3, 0)
    assert group.owner_name(slot) == b"bob"
    assert (group.pending.time_ms(slot), group.pending.deliveries(slot)) == (600, 2)


def test_the_oldest_type_has_its_counters_estimated() -> None:
    body = whole_body(15).but(groups=[group_part(last=(7, 0))])
    stream = taken(body)
    assert (stream.entries_added, stream.maxdel_ms) == (6, 0)
    assert only_group(stream).entries_read == 6
    assert only_group(taken(whole_body(15))).entries_read == -1


def test_types_without_active_times_take_the_time_of_the_last_sight() -> None:
    for kind, active_ms in ((15, 1000), (19, 1000), (21, 900), (27, 900)):
        alice = only_group(taken(whole_body(kind))).consumer(b"alice")
        assert alice is not None
        assert (alice.seen_ms, alice.active_ms) == (1000, active_ms)


def test_a_consumer_may_never_have_been_active() -> None:
    consumers = [ConsumerPart(b"alice", 1000, -1, [(2, 0), (3, 0), (5, 0)])]
    alice = only_group(taken(body_of(small_stream()).but(groups=[group_part(consumers=consumers)])))
    found = alice.consumer(b"alice")
    assert found is not None
    assert found.active_ms == -1


def test_an_empty_stream_is_taken() -> None:
    stream = taken(StreamBody(last=(9, 9), max_deleted=(9, 9), added=12))
    assert (stream.length, stream.last_ms, stream.entries_added) == (0, 9, 12)


def test_the_first_id_is_looked_up_and_not_believed() -> None:
    stream = taken(whole_body().but(first=(77, 7)))
    assert (stream.first_ms, stream.first_seq) == (1, 0)


def test_counters_stay_within_what_can_be_counted() -> None:
    assert taken(whole_body().but(added=2**64 - 1)).entries_added == 2**63 - 1
    assert taken(whole_body().but(added=0)).entries_added == 6
    pending = [((2, 0), 500, 2**64 - 1)]
    consumers = [ConsumerPart(owned=[(2, 0)])]
    part = group_part(pending=pending, consumers=consumers)
    group = only_group(taken(whole_body().but(groups=[part])))
    assert group.pending.deliveries(group.pending.first()) == 2**63 - 1


def test_a_node_without_live_entries_is_left_out() -> None:
    stream = small_stream()
    for n in (1, 2, 3):
        stream.delete(n, 0)
    body = body_of(stream)
    # Redis 7.0 keeps such a node when MINID has trimmed its last live entry.
    dead = small_stream()
    node = dead.nodes.first_value()
    blob = bytearray(node.blob())
    for at in entry_places(dead):
        blob[at] |= 1
    blob[6], blob[8] = 0, 3
    ghost = (ids.key(1, 0), bytes(blob))
    assert taken(body.but(nodes=[ghost, *body.nodes])).range() == stream.range()


def entry_places(stream: Stream) -> list[int]:
    """Where the entries of the first node begin."""
    places = []
    cursor = stream.cursor()
    cursor.open(0, 0, 3, 0, False)
    while cursor.next():
        places.append(cursor.at)
    return places


def test_the_nack_zone_keeps_its_order() -> None:
    part = group_part(
        consumers=[ConsumerPart(owned=[(3, 0)])], zone=[(5, 0), (2, 0)], entries_read=-1
    )
    group = only_group(taken(whole_body().but(groups=[part])))
    slots = group.pending.by_time.slots()
    assert [group.pending.id_ms(slot) for slot in slots] == [5, 2, 3]
    assert group.pending.nacked == 2
    assert group.entries_read == -1


def test_the_idempotency_map_is_taken_in_order() -> None:
    producers = [(b"p", [(b"one", (1, 0)), (b"two", (2, 0))]), (b"q", [])]
    body = whole_body().but(
        producers=producers, duration_s=50, maxsize=7, iids_added=9, iids_duplicates=3
    )
    stream = taken(body)
    assert stream.idmp is not None
    assert stream.idmp.producers == {b"p": {b"one": (1, 0), b"two": (2, 0)}}
    assert (stream.idmp_duration_s, stream.idmp_maxsize) == (50, 7)
    assert (stream.iids_added, stream.iids_duplicates) == (9, 3)


def test_a_type_without_idempotency_takes_the_settings_of_the_server() -> None:
    stream = restore(payload_of(whole_body(21)), defaults=IdmpState(5, 6))
    assert (stream.idmp_duration_s, stream.idmp_maxsize) == (5, 6)


# Refused: the stream


@pytest.mark.parametrize("length", [0, 5, 7, 2**64 - 1])
def test_a_length_that_is_not_the_number_of_entries_is_refused(length: int) -> None:
    assert "6 are there" in refused(whole_body().but(length=length))


def test_an_entry_above_the_last_id_is_refused() -> None:
    assert "above the last ID" in refused(whole_body().but(last=(6, 9)))


@pytest.mark.parametrize(
    "nodes",
    [
        lambda nodes: [*nodes, nodes[0]],
        lambda nodes: nodes[::-1],
        lambda nodes: [nodes[0], *nodes],
    ],
)
def test_nodes_that_do_not_rise_are_refused(nodes: Any) -> None:
    assert "IDs do not rise" in refused(whole_body().but(nodes=nodes(whole_body().nodes)))


def test_a_node_under_a_name_that_is_no_id_is_refused() -> None:
    body = whole_body()
    nodes = [(body.nodes[0][0][:15], body.nodes[0][1]), *body.nodes[1:]]
    assert "15 bytes" in refused(body.but(nodes=nodes))


def test_groups_and_consumers_are_there_once() -> None:
    assert "group is there twice" in refused(whole_body().but(groups=[group_part(), group_part()]))
    twins = [ConsumerPart(owned=[(2, 0), (3, 0)]), ConsumerPart(owned=[(5, 0)])]
    body = whole_body().but(groups=[group_part(consumers=twins)])
    assert "consumer is there twice" in refused(body)


# Refused: pending entries

ALICE_ALL = ConsumerPart(b"alice", owned=[(2, 0), (3, 0), (5, 0)])
BAD_GROUPS: list[tuple[str, dict[str, Any]]] = [
    ("do not rise", {"pending": [PENDING[0], PENDING[0], *PENDING[1:]]}),
    ("do not rise", {"pending": PENDING[::-1]}),
    ("time is negative", {"pending": [((2, 0), -5, 1), *PENDING[1:]]}),
    ("negative number of entries", {"entries_read": -2}),
    ("nobody's", {"consumers": [ConsumerPart(owned=[(2, 0)])]}),
    ("nobody's", {"consumers": []}),
    ("two owners", {"consumers": [ALICE_ALL, ConsumerPart(b"bob", owned=[(3, 0)])]}),
    ("two owners", {"consumers": [ConsumerPart(owned=[(2, 0), (2, 0), (3, 0), (5, 0)])]}),
    ("its group has not", {"consumers": [ALICE_ALL, ConsumerPart(b"bob", owned=[(4, 0)])]}),
    ("time is negative", {"consumers": [ConsumerPart(seen_ms=-1)]}),
    ("active time is negative", {"consumers": [ConsumerPart(active_ms=-2)]}),
    ("or is somebody's", {"consumers": [ALICE_ALL], "zone": [(2, 0)]}),
    ("is not pending", {"consumers": [ALICE_ALL], "zone": [(4, 0)]}),
    (
        "or is somebody's",
        {"consumers": [ConsumerPart(owned=[(2, 0), (3, 0)])], "zone": [(5, 0), (5, 0)]},
    ),
]


@pytest.mark.parametrize(("reason", "changes"), BAD_GROUPS)
def test_pending_entries_that_contradict_each_other_are_refused(
    reason: str, changes: dict[str, Any]
) -> None:
    assert reason in refused(whole_body().but(groups=[group_part(**changes)]))


@pytest.mark.parametrize(
    "changes",
    [
        {"duration_s": 0},
        {"duration_s": 86401},
        {"maxsize": 0},
        {"maxsize": 10001},
        {"producers": [(b"p", [(b"i", (1, 0))]), (b"p", [(b"i", (1, 0))])]},
        {"producers": [(b"p", [(b"i", (1, 0)), (b"i", (2, 0))])]},
    ],
)
def test_idempotency_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    refused(whole_body().but(**changes))


# Refused: nodes


def with_node(change: Any) -> StreamBody:
    """The stream with its first node changed."""
    body = whole_body()
    blob = bytearray(body.nodes[0][1])
    change(blob)
    return body.but(nodes=[(body.nodes[0][0], bytes(blob)), *body.nodes[1:]])


def put(at: int, *values: int) -> Any:
    def change(blob: bytearray) -> None:
        blob[at : at + len(values)] = bytes(values)

    return change


# 1b000000 0d00 | 03 01 | 00 01 | 01 01 | 81 f 02 | 00 01 | 02 01 00 01 00 01 01 01 04 01 | ...
BAD_NODES = [
    ("header", put(0, 9)),
    ("header", put(4, 1)),
    ("header", put(-1, 0)),
    ("header", lambda blob: blob.append(255)),
    ("header", lambda blob: blob.clear()),
    ("header", lambda blob: blob.__setitem__(slice(None), b"\x07\0\0\0\0\0\xff")),
    ("counters do not fit", put(6, 2)),
    ("counters do not fit", put(8, 1)),
    ("shortest form", put(6, 0x81, ord("x"))),
    ("shortest form", put(7, 2)),
    ("no fields", put(10, 0)),
    ("element is broken", put(10, 100)),
    ("element is broken", put(10, 2)),
    ("element is broken", put(12, 0xBF)),
    ("element is broken", put(14, 7)),
    ("element is broken", put(15, 1)),
    ("unknown flags", put(17, 4)),
    ("unknown flags", put(18, 9)),
    ("do not rise", put(19, 5)),
    ("do not rise", put(21, 5)),
    ("do not rise", put(22, 5)),
    ("no fields", put(17, 0, 1, 0, 1, 0, 1, 0)),
    ("size of an entry", put(25, 5)),
    ("counters do not fit", put(17, 3)),
]


def test_the_first_node_is_laid_out_as_these_tests_believe() -> None:
    blob = whole_body().nodes[0][1]
    master, entry = "0301 0001 0101 816602 0001", "0201 0001 0001 0101 0401"
    assert blob[6:27] == bytes.fromhex(master + entry)


@pytest.mark.parametrize(("reason", "change"), BAD_NODES)
def test_a_node_that_does_not_hold_together_is_refused(reason: str, change: Any) -> None:
    assert reason in refused(with_node(change))


@pytest.mark.parametrize("size", [63, 64, 4095, 4096, 16_377, 16_383, 16_384, 70_000])
def test_long_values_are_walked_over(size: int) -> None:
    stream = Stream()
    stream.add(1, 0, [b"f" * size, b"v" * size])
    stream.add(2, 0, [b"f" * size, b"w" * size])
    body = body_of(stream)
    assert taken(body).range() == stream.range()
    name, blob = body.nodes[0]
    dice = Random(size)
    for _ in range(10):
        damaged = bytearray(blob)
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
        payload = body.but(nodes=[(name, bytes(damaged))]).bytes() + bytes(10)
        try:
            check.check_stream(restore(payload, skip_checks=True))
        except CorruptDataError:
            continue


def test_a_node_with_more_elements_than_can_be_counted_is_taken() -> None:
    stream = Stream()
    for n in range(1, 40):
        stream.add(n, 0, [b"f", b"v"] * 2000, node_bytes=0, node_entries=0)
    body = body_of(stream)
    assert body.nodes[0][1][4:6] == b"\xff\xff"
    assert taken(body).length == 39


def after_a_step_back() -> StreamBody:
    """Entries 1, 2, 3 with 3 deleted, the last ID set back to 2, then 2-5 added: Redis 7.0 can."""
    stream = Stream()
    for n in (1, 2, 3):
        stream.add(n, 0, [b"f", b"v"])
    stream.delete(3, 0)
    stream.last_ms, stream.last_seq = 2, 0
    stream.add(2, 5, [b"f", b"new"])
    return body_of(stream)


def test_deleted_entries_out_of_order_are_dropped() -> None:
    stream = taken(after_a_step_back())
    assert [(ms, seq) for ms, seq, _ in stream.range()] == [(1, 0), (2, 0), (2, 5)]
    assert (stream.last_ms, stream.last_seq) == (2, 5)


def test_deleted_entries_above_the_last_id_are_dropped() -> None:
    stream = small_stream()
    stream.delete(7, 0)
    stream.add(8, 0, [b"f", b"v"])
    stream.delete(8, 0)
    body = body_of(stream).but(last=(6, 0))
    assert taken(body).range() == stream.range()


def test_a_stream_may_be_all_deleted_entries_above_its_last_id() -> None:
    stream = Stream()
    stream.add(5, 0, [b"f", b"v"])
    blob = bytearray(stream.tail.blob() if stream.tail is not None else b"")
    blob[17] |= 1
    blob[6], blob[8] = 0, 1
    body = StreamBody(nodes=[(ids.key(5, 0), bytes(blob))], last=(2, 0), added=3)
    assert taken(body).length == 0
