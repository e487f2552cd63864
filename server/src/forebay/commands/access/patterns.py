"""Patterns of keys and channels in the rules of a user, and how a name is compared with them.

    orders:*      PREFIX   compared byte by byte, without an object      nearly all patterns
    orders        EXACT    the same
    *             PREFIX   of no bytes: anything but the empty name (oddity 1 of api/glob.py)
    o?ders:[0-9]  GLOB     api/glob.py

A pattern is built once, when the rule is read.
"""

from __future__ import annotations

from forebay import mem
from forebay.commands.api.glob import Glob

EXACT = 0
PREFIX = 1
GLOB = 2
# A glob costs more than the rest of a short command; the keys of a user are few.
KNOWN_NAMES = 512
KNOWN_BYTES = 256
MAGIC = b"*?[\\"


class Pattern:
    """One pattern, with the permissions for the keys that match it."""

    def __init__(self, text: bytes, permissions: int = 0) -> None:
        self.text = text
        #: READ_KEY, WRITE_KEY or both; channels have none.
        self.permissions = permissions
        self.glob: Glob | None = None
        #: The bytes that a matching name begins with, or is equal to.
        self.head = text
        if not any(byte in MAGIC for byte in text):
            self.kind = EXACT
        elif text[-1:] == b"*" and not any(byte in MAGIC for byte in text[:-1]):
            self.kind = PREFIX
            self.head = text[:-1]
        else:
            self.kind = GLOB
            self.glob = Glob(text)
        self.p: mem.Source = self.head
        self.size = len(self.head)
        #: The answers of a glob for the names asked about recently.
        self.known: dict[bytes, bool] = {}

    def fits(self, p: mem.Source, at: int, n: int) -> bool:
        """Whether the name of n bytes at p[at] matches the pattern."""
        if self.kind == GLOB:
            return self.fits_glob(mem.to_bytes(p, at, n))
        if n < self.size or n == 0 or (self.kind == EXACT and n != self.size):
            return n == 0 and self.size == 0 and self.kind == EXACT
        return mem.equal(p, at, self.p, 0, self.size)

    def fits_name(self, name: bytes) -> bool:
        """The same for a name that is an object."""
        return self.fits(name, 0, len(name))

    def fits_glob(self, name: bytes) -> bool:
        """The same for a pattern that is not just a prefix."""
        fits = self.known.get(name)
        if fits is None:
            assert self.glob is not None
            fits = self.glob.matches(name)
            if len(self.known) >= KNOWN_NAMES:
                self.known.clear()
            if len(name) <= KNOWN_BYTES:
                self.known[name] = fits
        return fits
