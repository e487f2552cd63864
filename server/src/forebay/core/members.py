"""A set: a Python set of its members, with an order on demand.

    the set itself    who is a member                            always
    order, place      every member once, dense; member -> index  once somebody asked
    form              how Redis would have stored it             for OBJECT ENCODING

SPOP, SRANDMEMBER and SSCAN need a member by its number, which a Python set cannot
give.  The first of them on a large set makes ``order`` and ``place``, in one walk
over the set; from then on every change keeps them, so that each further call costs
as much as it answers, and a set popped one by one is not walked again.  Other sets
do not pay for it.  A removed member's place is taken by the last
one: a member's index only ever goes down, which is what SSCAN builds upon.

    INTSET      all are numbers, up to set-max-intset-entries
    LISTPACK    short ones, up to set-max-listpack-entries
    HASHTABLE   the rest; there is no way back

Rules
  1. A set is changed only through include() and exclude().
  2. A form only ever rises.  UNKNOWN is a set that came whole (loaded, stored):
     settle() decides by what it holds before the first change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from forebay import mem

UNKNOWN, INTSET, LISTPACK, HASHTABLE = range(4)

#: Up to here a list of all members, made for one call, is cheaper than an order that is kept.
SMALL = 512


class Limits(Protocol):
    """The directives that decide the form."""

    set_max_intset_entries: int
    set_max_listpack_entries: int
    set_max_listpack_value: int


def is_number(text: bytes) -> bool:
    """Whether it is a 64-bit number as one would print it."""
    found, _ = mem.parse_int(text, 0, len(text))
    return bool(found)


class Members(set[bytes]):
    """The members."""

    __slots__ = ("form", "order", "place")

    def __init__(self, members: Iterable[bytes] = ()) -> None:
        super().__init__(members)
        self.form = UNKNOWN
        self.order: list[bytes] | None = None
        self.place: dict[bytes, int] = {}

    def copy(self) -> Members:
        """An equal set of the same form."""
        twin = Members(self)
        twin.form = self.form
        return twin

    # Changing

    def include(self, members: list[bytes], limits: Limits) -> int:
        """Add members; how many were new."""
        before = len(self)
        at = 0
        if self.form != HASHTABLE:
            self._expect(members, limits)
            while at < len(members) and self.form != HASHTABLE:
                self._include_packed(members[at], limits)
                at += 1
        rest = members[at:] if at else members
        if self.order is None:
            self.update(rest)
        else:
            for member in rest:
                self._include_ordered(member)
        return len(self) - before

    def exclude(self, members: list[bytes], limits: Limits) -> int:
        """Remove members; how many were there."""
        before = len(self)
        if before and self.form == UNKNOWN:
            self.settle(limits)
        if self.order is None:
            self.difference_update(members)
        else:
            for member in members:
                self._exclude_ordered(member)
        return before - len(self)

    def _include_ordered(self, member: bytes) -> None:
        assert self.order is not None
        if member not in self:
            self.place[member] = len(self.order)
            self.order.append(member)
            self.add(member)

    def _exclude_ordered(self, member: bytes) -> None:
        assert self.order is not None
        hole = self.place.pop(member, -1)
        if hole < 0:
            return
        self.remove(member)
        last = self.order.pop()
        if hole < len(self.order):
            self.order[hole] = last
            self.place[last] = hole

    # By number

    def ordered(self) -> list[bytes]:
        """Every member at its index, kept from now on; not to be changed."""
        if self.order is None:
            self.order = list(self)
            self.place = {member: i for i, member in enumerate(self.order)}
        return self.order

    def listed(self) -> list[bytes]:
        """Every member once, in an order that holds until the next change."""
        if self.order is None and len(self) <= SMALL:
            return list(self)
        return self.ordered()

    # The form

    def form_of(self, limits: Limits) -> int:
        """How it would be stored."""
        if self.form == UNKNOWN:
            self.settle(limits)
        return self.form

    def settle(self, limits: Limits) -> None:
        """Decide by what the set holds."""
        size = len(self)
        if size <= limits.set_max_intset_entries and all(map(is_number, self)):
            self.form = INTSET
        else:
            self.form = LISTPACK
            self.fit_listpack(limits)

    def fit_listpack(self, limits: Limits) -> None:
        """A listpack if that holds it, else a hash table."""
        fits = len(self) <= limits.set_max_listpack_entries
        if fits and max(map(len, self), default=0) <= limits.set_max_listpack_value:
            self.form = LISTPACK
        else:
            self.form = HASHTABLE

    def _expect(self, members: list[bytes], limits: Limits) -> None:
        """So many members are about to come: a new set gets its form, a small one may rise."""
        coming = len(members)
        if not self and self.form == UNKNOWN:
            self.form = INTSET if is_number(members[0]) else LISTPACK
            if self.form == INTSET and coming > limits.set_max_intset_entries:
                self.form = LISTPACK
        elif self.form == UNKNOWN:
            self.settle(limits)
        numbers = self.form == INTSET
        most = limits.set_max_intset_entries if numbers else limits.set_max_listpack_entries
        if coming > most:
            self.form = HASHTABLE

    def _include_packed(self, member: bytes, limits: Limits) -> None:
        """Add a member to a set that is no hash table yet."""
        if member in self:
            return
        numbers = self.form == INTSET
        if self.order is None:
            self.add(member)
        else:
            self._include_ordered(member)
        if numbers and is_number(member):
            if len(self) > limits.set_max_intset_entries:
                self.form = HASHTABLE
        elif numbers:
            self.fit_listpack(limits)
        elif (
            len(self) > limits.set_max_listpack_entries
            or len(member) > limits.set_max_listpack_value
        ):
            self.form = HASHTABLE
