"""The streams of a server, by name and by pattern.

    orders         a name: taken as it is, whether it exists or not
    'orders:*'     a pattern: every stream whose name matches, in order

SCAN walks over all keys of a database without stopping the server; ``TYPE stream`` leaves others
out.  SCAN may return a key twice; it is kept once.
"""

from __future__ import annotations

import os

from forebay.cli.remote.link import Link, Refusal

SCAN_COUNT = 1000


def is_pattern(name: str) -> bool:
    """Whether a word stands for many names; an escaped star does not."""
    plain = name.replace("\\*", "").replace("\\?", "").replace("\\[", "")
    return any(char in plain for char in "*?[")


def name_of(word: str) -> bytes:
    """A name as the shell gave it, byte for byte; an escaped star is a star."""
    for char in "*?[":
        word = word.replace(f"\\{char}", char)
    return os.fsencode(word)


def scanned(link: Link, pattern: str = "*") -> list[bytes] | Refusal:
    """All streams that match, in order."""
    found: set[bytes] = set()
    cursor = b"0"
    while True:
        options = ("MATCH", os.fsencode(pattern), "COUNT", SCAN_COUNT, "TYPE", "stream")
        reply = link.ask("SCAN", cursor, *options)
        if isinstance(reply, Refusal):
            return reply
        cursor, names = reply
        found.update(names)
        if cursor == b"0":
            return sorted(found)
