"""The idempotency map of a stream."""

from __future__ import annotations

import itertools

import pytest
import xxhash

from forebay.core.idmp import Idmp, auto_iid

MASK = (1 << 64) - 1


def filled(*records: tuple[bytes, bytes, int]) -> Idmp:
    idmp = Idmp()
    for pid, iid, ms in records:
        idmp.record(pid, iid, ms, 0, 100)
    return idmp


def test_a_recorded_message_is_found_by_producer_and_message() -> None:
    idmp = filled((b"p", b"i", 5))
    assert idmp.lookup(b"p", b"i") == (True, 5, 0)
    assert idmp.lookup(b"p", b"j") == (False, 0, 0)
    assert idmp.lookup(b"q", b"i") == (False, 0, 0)


def test_producers_and_messages_are_counted() -> None:
    assert (Idmp().pids, Idmp().iids) == (0, 0)
    idmp = filled((b"p", b"i", 1), (b"p", b"j", 2), (b"q", b"i", 3))
    assert (idmp.pids, idmp.iids) == (2, 3)


def test_the_oldest_messages_of_the_same_producer_make_room() -> None:
    idmp = filled((b"q", b"old", 1))
    for n in range(5):
        idmp.record(b"p", b"%d" % n, n, 0, 3)
    assert [idmp.lookup(b"p", b"%d" % n)[0] for n in range(5)] == [False, False, True, True, True]
    assert idmp.lookup(b"q", b"old")[0]


def test_a_maximum_that_shrank_is_reached_by_the_next_message() -> None:
    idmp = filled(*[(b"p", b"%d" % n, n) for n in range(10)])
    idmp.record(b"p", b"new", 10, 0, 2)
    assert idmp.producers[b"p"] == {b"9": (9, 0), b"new": (10, 0)}


def test_messages_expire_by_the_time_of_their_entries() -> None:
    idmp = filled((b"p", b"a", 1000), (b"p", b"b", 2000), (b"p", b"c", 3000))
    assert idmp.expire(now_ms=12_000, duration_s=10) == 2
    assert idmp.producers == {b"p": {b"c": (3000, 0)}}


def test_a_message_lives_for_its_whole_duration() -> None:
    idmp = filled((b"p", b"a", 1000))
    assert idmp.expire(now_ms=10_999, duration_s=10) == 0
    assert idmp.expire(now_ms=11_000, duration_s=10) == 1


def test_a_producer_without_messages_is_forgotten() -> None:
    idmp = filled((b"p", b"a", 1000), (b"q", b"a", 9000))
    idmp.expire(now_ms=12_000, duration_s=10)
    assert list(idmp.producers) == [b"q"]


def test_clear_forgets_everything() -> None:
    idmp = filled((b"p", b"a", 1000))
    idmp.clear()
    assert (idmp.pids, idmp.iids) == (0, 0)


def test_a_copy_is_equal_and_independent() -> None:
    idmp = filled((b"p", b"a", 1), (b"p", b"b", 2))
    twin = idmp.copy()
    assert twin.producers == idmp.producers
    twin.record(b"p", b"c", 3, 0, 2)
    assert idmp.lookup(b"p", b"a")[0]
    assert not twin.lookup(b"p", b"a")[0]


def test_the_automatic_id_does_not_depend_on_the_order_of_the_pairs() -> None:
    pairs = [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
    found = {
        auto_iid([word for pair in order for word in pair])
        for order in itertools.permutations(pairs)
    }
    assert len(found) == 1
    assert len(found.pop()) == 16


@pytest.mark.parametrize(
    "other",
    [
        [b"a", b"1"],
        [b"a", b"2", b"b", b"1"],
        [b"a", b"1", b"b", b"2", b"b", b"2"],
        [b"a1", b"", b"b", b"2"],
        [b"", b"a1", b"b", b"2"],
    ],
)
def test_other_content_has_another_automatic_id(other: list[bytes]) -> None:
    assert auto_iid(other) != auto_iid([b"a", b"1", b"b", b"2"])


def test_the_automatic_id_of_one_pair_follows_the_formula() -> None:
    digest = xxhash.xxh3_128_intdigest(b"field" + (5).to_bytes(8, "little") + b"value")
    low, high = digest & MASK, digest >> 64

    def rotated(word: int) -> int:
        return (word << 1 | word >> 63) & MASK

    expected = (low ^ rotated(high)).to_bytes(8, "little")
    expected += (high ^ rotated(low)).to_bytes(8, "little")
    assert auto_iid([b"field", b"value"]) == expected


def test_sums_of_hashes_wrap_and_their_exclusive_ors_rotate() -> None:
    def all_ones(data: bytes) -> int:
        return (1 << 128) - 1

    assert auto_iid([b"a", b"1"], all_ones) == bytes(16)
    two = auto_iid([b"a", b"1", b"b", b"2"], all_ones)
    assert two == (MASK - 1).to_bytes(8, "little") * 2
