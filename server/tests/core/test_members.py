"""Sets: their members, an order on demand, and an encoding that never changes back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forebay.commands.api.settings import Settings
from forebay.core.check import check_members
from forebay.core.members import HASHTABLE, INTSET, LISTPACK, SMALL, Members

LIMITS = Settings(set_max_intset_entries=6, set_max_listpack_entries=4, set_max_listpack_value=8)

members = st.sampled_from([b"%d" % i for i in range(9)] + [b"a", b"b", b"c", b"01", b"long" * 3])
changes = st.lists(
    st.tuples(st.sampled_from(["include", "exclude", "order"]), st.lists(members, min_size=1)),
    max_size=25,
)


@given(changes)
def test_a_set_is_a_set_whether_or_not_it_has_an_order(
    steps: list[tuple[str, list[bytes]]],
) -> None:
    here, model, form = Members(), set[bytes](), 0
    for step, some in steps:
        before = set(model)
        if step == "include":
            model.update(some)
            assert here.include(some, LIMITS) == len(model - before)
        elif step == "exclude":
            model.difference_update(some)
            assert here.exclude(some, LIMITS) == len(before - model)
        else:
            here.ordered()
        assert here == model
        assert sorted(here.listed()) == sorted(model)
        check_members(here)
        if here:
            assert here.form_of(LIMITS) >= form
            form = here.form
            assert form_fits(here)
        else:
            # The key would be gone.
            here, form = Members(), 0


def form_fits(here: Members) -> bool:
    if here.form == INTSET:
        return len(here) <= 6 and all(member.isdigit() and member != b"01" for member in here)
    return here.form == HASHTABLE or (len(here) <= 4 and max(map(len, here)) <= 8)


def form(*some: str) -> int:
    here = Members()
    here.include([word.encode() for word in some], LIMITS)
    return here.form


def test_the_form_follows_from_what_comes() -> None:
    assert form("1", "2") == INTSET
    assert form(*"123456") == INTSET
    assert form(*"1234567") == HASHTABLE
    assert form("1", "a") == LISTPACK
    assert form("a", "1") == LISTPACK
    assert form("a", "b", "c", "d", "e") == HASHTABLE
    assert form("a", "long" * 3) == HASHTABLE
    assert form("1", "2", "3", "4", "a") == HASHTABLE


def test_there_is_no_way_back() -> None:
    here = Members()
    here.include([b"1", b"a"], LIMITS)
    here.exclude([b"a"], LIMITS)
    assert here.form_of(LIMITS) == LISTPACK
    here.include([b"long" * 3], LIMITS)
    here.exclude([b"long" * 3], LIMITS)
    assert here.form_of(LIMITS) == HASHTABLE


def test_a_set_that_came_whole_is_judged_by_what_it_holds() -> None:
    assert Members([b"1", b"2"]).form_of(LIMITS) == INTSET
    assert Members([b"1", b"x"]).form_of(LIMITS) == LISTPACK
    assert Members(b"%d" % i for i in range(7)).form_of(LIMITS) == HASHTABLE


def test_a_copy_has_the_form_and_is_apart() -> None:
    here = Members([b"1"])
    here.include([b"a"], LIMITS)
    here.ordered()
    twin = here.copy()
    twin.include([b"b"], LIMITS)
    assert (here, twin) == ({b"1", b"a"}, {b"1", b"a", b"b"})
    assert twin.form == LISTPACK


def test_a_small_set_keeps_no_order_and_a_large_one_does() -> None:
    small, large = Members(b"%d" % i for i in range(SMALL)), Members(map(bytes, range(SMALL + 1)))
    small.listed()
    large.listed()
    assert small.order is None
    assert large.order is large.listed()


def test_a_set_that_came_whole_has_its_form_before_it_loses_a_member() -> None:
    here = Members([b"1", b"a"])
    here.exclude([b"a"], LIMITS)
    assert here.form_of(LIMITS) == LISTPACK
