"""A stream against a plain sorted list, every invariant checked after each step."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.core.check import check_stream
from forebay.core.stream import Stream
from forebay.core.trim import Trimmer

Id = tuple[int, int]

small = st.integers(0, 40)
values = st.sampled_from(
    [b"", b"1", b"-7", b"127", b"128", b"4095", b"-4097", b"70000", b"2147483648", b"007", b"-0"]
) | st.binary(max_size=70)
names = st.sampled_from([b"temperature", b"12", b"", b"speed"])
pairs = st.lists(st.tuples(names, values), min_size=1, max_size=3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), small, pairs),
        st.tuples(st.just("add"), small, pairs),
        st.tuples(st.just("delete"), small, small),
        st.tuples(st.just("maxlen"), small, st.booleans()),
        st.tuples(st.just("minid"), small, st.booleans()),
    ),
    max_size=60,
)


@dataclass
class Model:
    """A stream as entries in order, and the ID of the last one ever added."""

    entries: dict[Id, list[bytes]] = field(default_factory=dict)
    last: Id = (0, 0)

    def ids(self) -> list[Id]:
        return sorted(self.entries)

    def between(self, start: Id, end: Id) -> list[tuple[int, int, list[bytes]]]:
        return [(*i, self.entries[i]) for i in self.ids() if start <= i <= end]


def trim(stream: Stream, model: Model, by_length: bool, number: int, approx: bool) -> None:
    """Trim both; an approximate trim may leave more, but never less than asked for."""
    order = Trimmer()
    order.by_length, order.approx = by_length, approx
    order.maxlen, order.min_ms = (number, 0) if by_length else (0, number)
    if by_length:
        doomed = model.ids()[: max(0, len(model.entries) - number)]
    else:
        doomed = [i for i in model.ids() if i < (number, 0)]
    before = model.ids()
    removed = order.apply(stream)
    if approx:
        assert removed <= len(doomed)
        doomed = before[:removed]
    assert removed == len(doomed)
    for i in doomed:
        del model.entries[i]


def apply(stream: Stream, model: Model, step: tuple, node_entries: int) -> None:
    match step:
        case "add", gap, fields:
            ms, seq = model.last[0] + gap // 10, gap
            if (ms, seq) > model.last:
                flat = [part for pair in fields for part in pair]
                stream.add(ms, seq, flat, 4096, node_entries)
                model.entries[ms, seq] = flat
                model.last = ms, seq
        case "delete", place, _:
            order = model.ids()
            target = order[place % len(order)] if order and place % 3 else (place, place)
            assert stream.delete(*target) is (target in model.entries)
            model.entries.pop(target, None)
        case kind, number, approx:
            trim(stream, model, kind == "maxlen", number, approx)


@given(steps, st.integers(0, 7))
@settings(max_examples=150)
def test_a_stream_is_a_sorted_list_of_entries(steps: list[tuple], node_entries: int) -> None:
    stream, model = Stream(), Model()
    for step in steps:
        apply(stream, model, step, node_entries)
        check_stream(stream)
        assert (stream.last_ms, stream.last_seq) == model.last
    everything = model.between((0, 0), (2**64, 0))
    assert stream.range() == everything
    assert stream.range(reverse=True) == everything[::-1]


@given(steps, small, small, small, small, st.booleans(), st.integers(1, 5))
@settings(max_examples=100)
def test_any_range_is_a_slice_of_that_list(
    steps: list[tuple], a: int, b: int, c: int, d: int, reverse: bool, count: int
) -> None:
    stream, model = Stream(), Model()
    for step in steps:
        apply(stream, model, step, 3)
    expected = model.between((a, b), (c, d))
    if reverse:
        expected.reverse()
    assert stream.range(a, b, c, d, -1, reverse) == expected
    assert stream.range(a, b, c, d, count, reverse) == expected[:count]


@given(steps)
def test_a_copy_is_equal_and_independent(steps: list[tuple]) -> None:
    stream, model = Stream(), Model()
    for step in steps:
        apply(stream, model, step, 4)
    twin = stream.copy()
    check_stream(twin)
    before = twin.range()
    assert before == stream.range()
    stream.add(2**50, 0, [b"f", b"v"])
    assert twin.range() == before
