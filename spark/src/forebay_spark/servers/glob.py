"""Whether a name matches a pattern, as KEYS and SCAN of the server see it.

    *  any bytes    ?  one byte    [a-c]  one of these    [^a-c]  none of these    \\x  x itself

The server matches names of its own keys; a table must choose among the streams of a lake in the
same way.  Python's fnmatch does not help: it uses ``[!a]`` for ``[^a]`` and has no backslash.
"""

from __future__ import annotations

import re


def matches(pattern: str, name: str) -> bool:
    """Whether the whole name matches the pattern; both are compared as bytes."""
    return re.fullmatch(_regex(pattern.encode()), name.encode(), re.DOTALL) is not None


def _regex(pattern: bytes) -> bytes:
    parts = []
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        at += 1
        if byte == b"*":
            parts.append(b".*")
        elif byte == b"?":
            parts.append(b".")
        elif byte == b"[":
            part, at = _set(pattern, at)
            parts.append(part)
        else:
            if byte == b"\\" and at < len(pattern):
                byte = pattern[at : at + 1]
                at += 1
            parts.append(re.escape(byte))
    return b"".join(parts)


def _set(pattern: bytes, at: int) -> tuple[bytes, int]:
    """The set that begins at a place, and its end; an unclosed set ends with the pattern."""
    is_negated = pattern[at : at + 1] == b"^"
    at += is_negated
    allowed: set[int] = set()
    while at < len(pattern) and pattern[at] != ord("]"):
        if pattern[at] == ord("\\") and at + 1 < len(pattern):
            allowed.add(pattern[at + 1])
            at += 2
        elif pattern[at + 1 : at + 2] == b"-" and at + 2 < len(pattern):
            low, high = sorted((_signed(pattern[at]), _signed(pattern[at + 2])))
            allowed.update(byte & 0xFF for byte in range(low, high + 1))
            at += 3
        else:
            allowed.add(pattern[at])
            at += 1
    chosen = set(range(256)) - allowed if is_negated else allowed
    choices = b"".join(re.escape(bytes([byte])) for byte in sorted(chosen))
    return (b"[" + choices + b"]" if choices else b"(?!)"), at + 1


def _signed(byte: int) -> int:
    """A byte as the server compares it in a range: from 128 on it is negative."""
    return byte - 256 if byte > 127 else byte
