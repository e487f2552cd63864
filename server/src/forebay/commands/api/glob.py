"""Glob patterns with the rules of Redis, in time that no pattern can blow up.

    h?llo      one byte, any            h[a-e]llo  one byte of a class
    h*llo      any bytes, also none     h[^e]llo   one byte not of the class
    \\*         the byte after it, literally

    user:*:[0-9]?      ->   segments   user:   |   :[0-9]?
                                       first       last

A pattern is cut at its stars into *segments*.  Each element of a segment takes
exactly one byte, so a segment has a fixed length: the first must match at the start,
the last at the end, and each one between takes the leftmost place that is left.
Leftmost is always right, because a later place leaves less room for the rest.  So the
matcher never tries anything twice.  A segment of plain bytes is found by
``bytes.find``; one with classes by shift-and: a number holds one bit for each prefix
of the segment that ends at the current byte, and a byte of text costs one shift and
one AND.

A pattern may be as long as a request, so it is read only as far as needed: a text of
n bytes matches n elements at most, so a pattern with one more cannot match, whatever
follows.  A longer text continues from there.

Oddities of Redis that are kept, since clients may rely on them
  1. Only the empty pattern matches the empty text; even ``*`` does not.
  2. A class without its ``]`` extends to the end of the pattern; ``[^`` at the end is
     "any byte", ``[`` alone matches no byte.
  3. Bytes in a range compare as signed ones; a reversed range is turned around.
  4. When case is ignored, an escaped byte inside a class still matches exactly.
  5. A pattern with more than 1000 stars (several in a row are one, and one at the end
     is none) matches nothing.
"""

from __future__ import annotations

import re

from forebay.wire.chars import DASH, STAR

QUESTION = ord("?")
OPEN = ord("[")
CLOSE = ord("]")
CARET = ord("^")
ESCAPE = ord("\\")
STARS_MAX = 1000

_STARS = re.compile(rb"\*+")
_QUESTIONS = re.compile(rb"\?+")
_PLAIN = re.compile(rb"[^*?\[\\]+")

#: An element is a set of bytes, written as a number with bit b set for byte b.
Element = int
ANY_BYTE: Element = (1 << 256) - 1


def _run(low: int, high: int) -> Element:
    """The bytes from low to high, both included; none if low is above high."""
    return (1 << (high + 1)) - (1 << low) if low <= high else 0


UPPER_CASE: Element = _run(ord("A"), ord("Z"))
LOWER_CASE: Element = _run(ord("a"), ord("z"))
CASE_STEP = ord("a") - ord("A")


def matches(pattern: bytes, text: bytes, *, nocase: bool = False) -> bool:
    """Whether the whole text matches the pattern; make a Glob to ask more than once."""
    return Glob(pattern, nocase=nocase).matches(text)


class Glob:
    """A pattern that is prepared for many texts."""

    def __init__(self, pattern: bytes, *, nocase: bool = False) -> None:
        self.nocase = nocase
        self.empty = not pattern
        self.parser = _Parser(pattern, nocase)

    def matches(self, text: bytes) -> bool:
        """Whether the whole text matches."""
        if not text or self.empty:
            return not text and self.empty
        if not self.parser.read(len(text)):
            return False
        return self._fits(text, text.lower() if self.nocase else text)

    def _fits(self, text: bytes, folded: bytes) -> bool:
        first, *between = self.parser.segments
        at, end = first.size, len(text)
        if not between:
            return at == end and first.stands_at(text, folded, 0)
        last = between.pop()
        end -= last.size
        if at > end or not first.stands_at(text, folded, 0):
            return False
        if not last.stands_at(text, folded, end):
            return False
        for segment in between:
            at = segment.find(text, folded, at, end)
            if at < 0:
                return False
            at += segment.size
        return True


class _Segment:
    """Elements between two stars, each of which matches one byte."""

    def __init__(self, nocase: bool) -> None:
        self.ones = ONES_NOCASE if nocase else ONES
        self.nocase = nocase
        self.size = 0
        #: Its plain bytes as long as it has no classes; lower case if case is ignored.
        self.bytes = bytearray()
        self.elements: list[Element] | None = None
        self.plain = b""
        self.is_any = False
        # Byte -> the elements that match it, as bits; filled as bytes occur.
        self.takers: dict[int, int] = {}

    def add_bytes(self, run: bytes) -> None:
        """The next elements are plain bytes."""
        self.size += len(run)
        if self.elements is None:
            self.bytes += run.lower() if self.nocase else run
        else:
            self.elements += [self.ones[byte] for byte in run]

    def add(self, element: Element, count: int = 1) -> None:
        """Add the same element ``count`` times."""
        if self.elements is None:
            self.elements = [self.ones[byte] for byte in self.bytes]
        self.elements += [element] * count
        self.size += count

    def close(self) -> None:
        """The segment is complete."""
        self.plain = bytes(self.bytes)
        self.is_any = self.elements is not None and self.elements.count(ANY_BYTE) == self.size

    def stands_at(self, text: bytes, folded: bytes, at: int) -> bool:
        """Whether the segment matches the bytes from ``at`` on; there must be enough of them."""
        if self.elements is None:
            return folded.startswith(self.plain, at)
        return self.is_any or all(
            element >> byte & 1
            for element, byte in zip(self.elements, text[at : at + self.size], strict=True)
        )

    def find(self, text: bytes, folded: bytes, at: int, end: int) -> int:
        """The leftmost place in text[at:end] where the segment matches, or -1."""
        if self.elements is None:
            return folded.find(self.plain, at, end)
        if self.is_any:
            return at if at + self.size <= end else -1
        whole = 1 << (self.size - 1)
        prefixes = 0
        for i in range(at, end):
            prefixes = (prefixes << 1 | 1) & self._takers_of(text[i])
            if prefixes & whole:
                return i - self.size + 1
        return -1

    def _takers_of(self, byte: int) -> int:
        bits = self.takers.get(byte)
        if bits is None:
            assert self.elements is not None
            chosen = ("1" if element >> byte & 1 else "0" for element in reversed(self.elements))
            bits = self.takers[byte] = int("".join(chosen), 2)
        return bits


def _one(byte: int, nocase: bool) -> Element:
    """The element that matches this byte, in both letter cases if case is ignored."""
    if nocase:
        text = bytes((byte,))
        return 1 << text.lower()[0] | 1 << text.upper()[0]
    return 1 << byte


ONES = [_one(byte, nocase=False) for byte in range(256)]
ONES_NOCASE = [_one(byte, nocase=True) for byte in range(256)]


def _range(low: int, high: int, nocase: bool) -> Element:
    """All bytes between two ends, in the order of signed bytes."""
    low, high = sorted((_signed(low), _signed(high)))
    if nocase:
        low, high = _lower(low), _lower(high)
    taken = _run(max(low, 0), high) | _run(low + 256, min(high, -1) + 256)
    if nocase:
        taken = taken & ~UPPER_CASE | (taken & LOWER_CASE) >> CASE_STEP
    return taken


def _signed(byte: int) -> int:
    """The byte as C's signed char."""
    return byte - 256 if byte > 127 else byte


def _lower(value: int) -> int:
    return value + CASE_STEP if ord("A") <= value <= ord("Z") else value


class _Parser:
    """Reads a pattern from left to right into segments, only as far as needed."""

    def __init__(self, pattern: bytes, nocase: bool) -> None:
        self.pattern = pattern
        self.nocase = nocase
        self.ones = ONES_NOCASE if nocase else ONES
        self.at = 0
        #: The number of elements of all segments.
        self.size = 0
        self.segments = [_Segment(nocase)]
        self.is_read = False

    def read(self, longest: int) -> bool:
        """Read until the end, or until no text of that length can match; whether one can."""
        while not self.is_read and self.size <= longest and not self._has_too_many_stars():
            if self.at >= len(self.pattern):
                self.is_read = True
                self.segments[-1].close()
            else:
                self._read_one(self.pattern[self.at], longest + 1 - self.size)
        return self.is_read and self.size <= longest

    def _has_too_many_stars(self) -> bool:
        return len(self.segments) > STARS_MAX + 1 and self.segments[-1].size > 0

    def _read_one(self, byte: int, most: int) -> None:
        """Read a run of stars, up to ``most`` plain bytes or question marks, or one class."""
        segment = self.segments[-1]
        before = segment.size
        if byte == STAR:
            self._cut()
        elif byte == QUESTION:
            segment.add(ANY_BYTE, len(self._run(_QUESTIONS, most)))
        elif byte == OPEN:
            self.at += 1
            segment.add(self._class())
        elif byte == ESCAPE:
            self.at += self.at + 1 < len(self.pattern)
            segment.add_bytes(self.pattern[self.at : self.at + 1])
            self.at += 1
        else:
            segment.add_bytes(self._run(_PLAIN, most))
        self.size += segment.size - before

    def _run(self, kind: re.Pattern[bytes], most: int) -> bytes:
        found = kind.match(self.pattern, self.at, min(self.at + most, len(self.pattern)))
        assert found is not None
        self.at = found.end()
        return found[0]

    def _cut(self) -> None:
        """Stars: the segment before them is complete.  Stars at the end begin an empty one."""
        self._run(_STARS, len(self.pattern))
        self.segments[-1].close()
        self.segments.append(_Segment(self.nocase))

    def _class(self) -> Element:
        """The class after an opening bracket, including the closing one."""
        pattern, end = self.pattern, len(self.pattern)
        inverted = self.at < end and pattern[self.at] == CARET
        self.at += inverted
        taken = 0
        while self.at < end and pattern[self.at] != CLOSE:
            byte, left = pattern[self.at], end - self.at
            if byte == ESCAPE and left >= 2:
                taken |= 1 << pattern[self.at + 1]
                self.at += 2
            elif left >= 3 and pattern[self.at + 1] == DASH:
                taken |= _range(byte, pattern[self.at + 2], self.nocase)
                self.at += 3
            else:
                taken |= self.ones[byte]
                self.at += 1
        self.at += 1
        return taken ^ ANY_BYTE if inverted else taken
