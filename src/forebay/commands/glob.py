"""Glob patterns as Redis means them, in time that no pattern can blow up.

    h?llo      one byte, any            h[a-e]llo  one byte of a class
    h*llo      any bytes, also none     h[^e]llo   one byte not of the class
    \\*         the byte behind it, as it is

    user:*:[0-9]?      ->   segments   user:   |   :[0-9]?
                                       first       last

A pattern is cut at its stars into *segments*.  Each element of a segment takes
exactly one byte, so a segment has a fixed length: the first must stand at the
start, the last at the end, and each one between takes the leftmost place that
is left.  Leftmost is always right, because a later place leaves less room for
the rest.  So nothing is ever tried twice.  A segment of plain bytes is found by
``bytes.find``; one with classes by shift-and: a number holds one bit for each
prefix of the segment that ends at the current byte, and a byte of text costs
one shift and one AND.

Oddities of Redis that are kept, since clients may lean on them
  1. The empty text is matched by the empty pattern alone, not even by ``*``.
  2. A class without its ``]`` goes on to the end of the pattern; ``[^`` at the
     end is "any byte", ``[`` alone is no byte at all.
  3. Bytes in a range compare as signed ones; a reversed range is turned around.
  4. Without regard to case, an escaped byte inside a class is still exact.
"""

from __future__ import annotations

from collections.abc import Iterable

STAR = ord("*")
QUESTION = ord("?")
OPEN = ord("[")
CLOSE = ord("]")
CARET = ord("^")
DASH = ord("-")
ESCAPE = ord("\\")

#: An element is a set of bytes, written as a number with bit b set for byte b.
Element = int
ANY_BYTE: Element = (1 << 256) - 1


def _run(low: int, high: int) -> Element:
    """The bytes from low to high, both with; none if they are the wrong way round."""
    return (1 << (high + 1)) - (1 << low) if low <= high else 0


UPPER_CASE: Element = _run(ord("A"), ord("Z"))
LOWER_CASE: Element = _run(ord("a"), ord("z"))
CASE_STEP = ord("a") - ord("A")


def matches(pattern: bytes, text: bytes, *, nocase: bool = False) -> bool:
    """Whether the whole text fits the pattern; keep a Glob to ask more than once."""
    return Glob(pattern, nocase=nocase).matches(text)


class Glob:
    """A pattern made ready to be asked many times."""

    def __init__(self, pattern: bytes, *, nocase: bool = False) -> None:
        self.nocase = nocase
        self.empty = not pattern
        parts = _Parser(pattern, nocase).parts()
        self.first = _Segment(parts[0], nocase)
        self.between = [_Segment(part, nocase) for part in parts[1:-1] if part]
        self.last = _Segment(parts[-1], nocase) if len(parts) > 1 else None

    def matches(self, text: bytes) -> bool:
        """Whether the whole text fits."""
        if not text or self.empty:
            return not text and self.empty
        if self.nocase:
            return self._fits(text, text.lower())
        return self._fits(text, text)

    def _fits(self, text: bytes, folded: bytes) -> bool:
        at, end = self.first.size, len(text)
        if self.last is None:
            return at == end and self.first.stands_at(text, folded, 0)
        end -= self.last.size
        if at > end or not self.first.stands_at(text, folded, 0):
            return False
        if not self.last.stands_at(text, folded, end):
            return False
        for segment in self.between:
            at = segment.find(text, folded, at, end)
            if at < 0:
                return False
            at += segment.size
        return True


class _Segment:
    """Elements between two stars, each of which takes one byte."""

    def __init__(self, elements: list[Element], nocase: bool) -> None:
        self.elements = elements
        self.size = len(elements)
        self.plain = _plain(elements, nocase)
        # Byte -> the elements that take it, as bits; filled in as bytes are met.
        self.takers: dict[int, int] = {}

    def stands_at(self, text: bytes, folded: bytes, at: int) -> bool:
        """Whether the segment fits the bytes from ``at`` on, which must be enough."""
        if self.plain is not None:
            return folded.startswith(self.plain, at)
        return all(
            element >> byte & 1
            for element, byte in zip(self.elements, text[at : at + self.size], strict=True)
        )

    def find(self, text: bytes, folded: bytes, at: int, end: int) -> int:
        """The leftmost place in text[at:end] where the segment fits, or -1."""
        if self.plain is not None:
            return folded.find(self.plain, at, end)
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
            chosen = ("1" if element >> byte & 1 else "0" for element in reversed(self.elements))
            bits = self.takers[byte] = int("".join(chosen), 2)
        return bits


def _plain(elements: Iterable[Element], nocase: bool) -> bytes | None:
    """The bytes that a segment without classes stands for (lower case if that is all one)."""
    plain = bytearray()
    for element in elements:
        byte = element.bit_length() - 1
        if not element or element != _one(byte, nocase):
            return None
        plain.append(byte)
    return bytes(plain)


def _one(byte: int, nocase: bool) -> Element:
    """The element that takes this byte, in both letter cases if that is all one."""
    if nocase:
        text = bytes((byte,))
        return 1 << text.lower()[0] | 1 << text.upper()[0]
    return 1 << byte


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
    """Reads a pattern from left to right into lists of elements, one list between two stars."""

    def __init__(self, pattern: bytes, nocase: bool) -> None:
        self.pattern = pattern
        self.nocase = nocase
        self.at = 0

    def parts(self) -> list[list[Element]]:
        """The elements, cut at the stars."""
        parts: list[list[Element]] = [[]]
        while self.at < len(self.pattern):
            byte = self.pattern[self.at]
            self.at += 1
            if byte == STAR:
                parts.append([])
            elif byte == QUESTION:
                parts[-1].append(ANY_BYTE)
            elif byte == OPEN:
                parts[-1].append(self._class())
            else:
                if byte == ESCAPE and self.at < len(self.pattern):
                    byte = self.pattern[self.at]
                    self.at += 1
                parts[-1].append(_one(byte, self.nocase))
        return parts

    def _class(self) -> Element:
        """The class behind an opening bracket, up to and with the closing one."""
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
                taken |= _one(byte, self.nocase)
                self.at += 1
        self.at += 1
        return taken ^ ANY_BYTE if inverted else taken
