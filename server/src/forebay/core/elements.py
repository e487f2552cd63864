"""A list: a deque of its elements that knows how Redis would have stored them.

Redis keeps a short list in one listpack and a longer one in a quicklist, a chain
of listpacks.  OBJECT ENCODING shows it; nothing else here depends on it.

    packed_bytes   7 and more   a listpack of this many bytes
                   QUICKLIST
                   UNKNOWN      not computed yet: a list that was loaded or stored whole

    more is added than fits                  listpack -> quicklist
    the rest fits in half a listpack         quicklist -> listpack

The limit is `list-max-listpack-size`, here ``fill``: a number of elements, or
(negative) one of five sizes in bytes.

Rules
  1. Only the methods here change a list.
  2. A packed list is small, so only push and take keep the sum up to date; all
     other changes measure the list again.
  3. A quicklist is measured only after enough was taken that it might fit
     (``excess``): draining a long list costs no more than its length.

For the way back Redis also requires that all elements are in one node of the
chain; the nodes are not modelled here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from functools import cache
from itertools import islice

from forebay import mem
from forebay.core import listpack

QUICKLIST = -1
UNKNOWN = -2

#: The meaning of a fill of -1, -2, ... -5.
SIZES = (4096, 8192, 16384, 32768, 65536)
#: The maximum size of a listpack, however many elements are allowed.
SAFE_BYTES = 8192
#: An empty listpack: total size, count, end mark.
EMPTY_BYTES = 7
#: The size of the smallest element, and the largest overhead of an element.
SMALLEST_ENTRY = 2
OVERHEAD_MAX = 10
UNLIMITED = 1 << 62


@cache
def limits(fill: int) -> tuple[int, int]:
    """How many bytes and how many elements a listpack may have."""
    if fill >= 0:
        return SAFE_BYTES, max(fill, 1)
    return SIZES[min(-fill, len(SIZES)) - 1], UNLIMITED


def entry_bytes(element: bytes) -> int:
    """The size of an element in a listpack."""
    is_number, value = mem.parse_int(element, 0, len(element))
    if is_number:
        return listpack.int_size(value)
    size = len(element)
    size += 1 if size < 64 else 2 if size < 4096 else 5
    return size + listpack.backlen_size(size)


class Elements(deque[bytes]):
    """The elements, head first."""

    __slots__ = ("excess", "packed_bytes")

    def __init__(self, elements: Iterable[bytes] = ()) -> None:
        super().__init__(elements)
        self.packed_bytes = UNKNOWN
        #: How many bytes a quicklist must lose before it is measured.
        self.excess = 0

    def copy(self) -> Elements:
        """An equal list with the same encoding."""
        twin = Elements(self)
        twin.packed_bytes = self.packed_bytes
        return twin

    # Changing

    def push(self, elements: list[bytes], left: bool, fill: int) -> None:
        """Add elements at one end, one after the other."""
        self.grow(elements, fill)
        self.extendleft(elements) if left else self.extend(elements)

    def take(self, count: int, left: bool, fill: int) -> list[bytes]:
        """Remove and return up to ``count`` elements from one end."""
        self.settle(fill)
        pop = self.popleft if left else self.pop
        taken = [pop() for _ in range(min(count, len(self)))]
        if self.packed_bytes >= 0:
            self.packed_bytes -= sum(map(entry_bytes, taken))
        else:
            self.excess -= sum(map(len, taken)) + OVERHEAD_MAX * len(taken)
            self.shrink(fill)
        return taken

    def put_at(self, index: int, element: bytes, fill: int) -> None:
        """Replace an element; IndexError if there is none at this place."""
        before = self[index]
        self.grow([element], fill)
        self[index] = element
        self._measure_again(len(before), fill)

    def insert_at(self, index: int, element: bytes, fill: int) -> None:
        """Add an element in front of the one at this place."""
        self.grow([element], fill)
        self.insert(index, element)

    def keep(self, start: int, end: int, fill: int) -> int:
        """Remove all but elements[start:end]; how many were removed."""
        self.settle(fill)
        size = len(self)
        if end - start < size // 2:
            kept = self.between(start, end)
            self.clear()
            self.extend(kept)
        else:
            for _ in range(size - end):
                self.pop()
            for _ in range(start):
                self.popleft()
        self._measure_again(UNLIMITED, fill)
        return size - len(self)

    def drop_equal(self, element: bytes, count: int, fill: int) -> int:
        """Remove the first ``count`` equal elements, from the tail if negative, all if 0."""
        self.settle(fill)
        left = abs(count) or len(self)
        kept: deque[bytes] = deque()
        keep = kept.appendleft if count < 0 else kept.append
        for each in reversed(self) if count < 0 else self:
            if left and each == element:
                left -= 1
            else:
                keep(each)
        removed = len(self) - len(kept)
        if removed:
            self.clear()
            self.extend(kept)
            self._measure_again(removed * (len(element) + OVERHEAD_MAX), fill)
        return removed

    # Looking

    def between(self, start: int, end: int) -> list[bytes]:
        """elements[start:end], reached from the nearer end."""
        size = len(self)
        if start <= size - end:
            return list(islice(self, start, end))
        found = list(islice(reversed(self), size - end, size - start))
        found.reverse()
        return found

    def is_packed(self, fill: int) -> bool:
        """Whether Redis would store it in one listpack."""
        self.settle(fill)
        return self.packed_bytes >= 0

    # How it would be stored

    def settle(self, fill: int) -> None:
        """Compute the encoding of a list that was stored whole."""
        if self.packed_bytes == UNKNOWN:
            self.packed_bytes = self._measure(*limits(fill))

    def make_room(self, added: list[bytes], fill: int) -> None:
        """These might be added: if they are too much for a listpack, it becomes a quicklist."""
        self.settle(fill)
        if self.packed_bytes < 0:
            return
        max_bytes, max_count = limits(fill)
        too_large = self.packed_bytes + sum(map(len, added)) > max_bytes
        if too_large or len(self) + len(added) > max_count:
            self.packed_bytes = QUICKLIST
            self.excess = 0

    def grow(self, added: list[bytes], fill: int) -> None:
        """These are about to be added."""
        self.make_room(added, fill)
        if self.packed_bytes >= 0:
            self.packed_bytes += sum(map(entry_bytes, added))

    def shrink(self, fill: int) -> None:
        """Something was taken from a quicklist."""
        if self.excess > 0:
            return
        max_bytes, max_count = limits(fill)
        if max_count == UNLIMITED:
            max_bytes //= 2
        self.packed_bytes = self._measure(max_bytes, max_count // 2)

    def _measure_again(self, lost: int, fill: int) -> None:
        """The list changed anywhere; a quicklist lost at most this many bytes."""
        if self.packed_bytes >= 0:
            self.packed_bytes = EMPTY_BYTES + sum(map(entry_bytes, self))
        else:
            self.excess -= lost
            self.shrink(fill)

    def _measure(self, max_bytes: int, max_count: int) -> int:
        """The size of one listpack with all elements; QUICKLIST if that is too large."""
        size = len(self)
        if size > max_count or EMPTY_BYTES + size * SMALLEST_ENTRY > max_bytes:
            return QUICKLIST
        total = EMPTY_BYTES + sum(map(entry_bytes, self))
        if total <= max_bytes:
            return total
        self.excess = total - max_bytes
        return QUICKLIST
