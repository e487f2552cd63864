"""A set: a Python set of its members, with an order on demand.

    the set itself    its members                                always
    order, place      every member once, dense; member -> index  once it was needed
    form              how Redis would have stored it             for OBJECT ENCODING

SPOP, SRANDMEMBER and SSCAN need a member by its number, which a Python set does
not have.  The first of them on a large set makes ``order`` and ``place``, in one
walk over the set.  From then on every change updates them, so that the cost of a
call depends only on the size of its answer, and a set popped one by one is not
walked again.  Other sets do not pay for it.  The last member takes the place of a
removed one: a member's index only ever goes down, and SSCAN relies on this.

    INTSET      all are numbers, up to set-max-intset-entries
    LISTPACK    short ones, up to set-max-listpack-entries
    HASHTABLE   the rest; there is no way back

Rules
  1. Only include() and exclude() change a set.
  2. A form only ever rises.  UNKNOWN is a set that was loaded or stored whole:
     settle() decides by its members before the first change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from forebay import mem

UNKNOWN, INTSET, LISTPACK, HASHTABLE = range(4)

#: Up to this size a list of all members, made for one call, is cheaper than a permanent order.
SMALL = 512


class Limits(Protocol):
    """The directives that decide the form."""

    set_max_intset_entries: int
    set_max_listpack_entries: int
    set_max_listpack_value: int


def is_number(text: bytes) -> bool:
    """Whether it is a 64-bit number in canonical form."""
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
        """Remove members; how many existed."""
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
        """Every member at its index, kept up to date from now on; do not change the list."""
        if self.order is None:
            self.order = list(self)
            self.place = {member: i for i, member in enumerate(self.order)}
        return self.order

    def listed(self) -> list[bytes]:
        """Every member once, in an order that is valid until the next change."""
        if self.order is None and len(self) <= SMALL:
            return list(self)
        return self.ordered()

    # The form

    def form_of(self, limits: Limits) -> int:
        """How Redis would store it."""
        if self.form == UNKNOWN:
            self.settle(limits)
        return self.form

    def settle(self, limits: Limits) -> None:
        """Decide by the members of the set."""
        size = len(self)
        if size <= limits.set_max_intset_entries and all(map(is_number, self)):
            self.form = INTSET
        else:
            self.form = LISTPACK
            self.fit_listpack(limits)

    def fit_listpack(self, limits: Limits) -> None:
        """A listpack if the members fit, else a hash table."""
        fits = len(self) <= limits.set_max_listpack_entries
        if fits and max(map(len, self), default=0) <= limits.set_max_listpack_value:
            self.form = LISTPACK
        else:
            self.form = HASHTABLE

    def _expect(self, members: list[bytes], limits: Limits) -> None:
        """Prepare for new members: a new set gets its form, a small one may rise."""
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
        """Add a member to a set that is not a hash table yet."""
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
