"""IDs of entries: two unsigned 64-bit numbers, ``ms-seq``, ordered as a pair.

An ID is a plain tuple, so comparing, sorting, hashing, ``min`` and ``max`` are
Python's own.  Ranges in this package are always half open on the left,
``(start, end]``: the end of one batch is the start of the next, without arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

WORD_MAX = 2**64 - 1


class EntryId(NamedTuple):
    """The name of one entry, and its place in the order of its stream."""

    ms: int
    seq: int

    def __str__(self) -> str:
        return f"{self.ms}-{self.seq}"

    @property
    def number(self) -> int:
        """Both halves as one 128-bit number, for arithmetic."""
        return self.ms << 64 | self.seq

    def before(self) -> EntryId:
        """The greatest ID below this one; for the least ID, itself."""
        return from_number(max(self.number - 1, 0))


FIRST = EntryId(0, 0)
LAST = EntryId(WORD_MAX, WORD_MAX)


def from_number(number: int) -> EntryId:
    """The ID whose ``number`` this is."""
    return EntryId(number >> 64, number & WORD_MAX)


def parse(text: str | bytes, default_seq: int = 0) -> EntryId:
    """Read ``ms-seq`` or ``ms``; ValueError for anything else."""
    if isinstance(text, bytes):
        text = text.decode("ascii", "replace")
    ms_text, dash, seq_text = text.partition("-")
    digits = ms_text + seq_text
    if not ms_text or (dash and not seq_text) or not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"{text!r} is not an ID")
    ms = int(ms_text)
    seq = int(seq_text) if dash else default_seq
    if ms > WORD_MAX or seq > WORD_MAX:
        raise ValueError(f"{text!r} is larger than any ID")
    return EntryId(ms, seq)
