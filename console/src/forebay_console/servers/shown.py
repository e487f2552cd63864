"""Bytes as the page gets them: text or base64, cut if long, then with the full size.

    {"text": "tea"}                            UTF-8
    {"base64": "gIGC", "bytes": 3}             anything else
    {"text": "aaaa...", "bytes": 10485760}     too long: only its beginning is sent

A name of a stream is a part of addresses as well: ``key`` is its bytes, percent-encoded, and the
page uses it as it is.
"""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

#: The most bytes of a value in a list.
LISTED_BYTES = 2_000
#: The most bytes of a value that is shown alone.
WHOLE_BYTES = 256_000
LONGEST_CHARACTER = 4
#: A browser removes these parts from an address, however they are encoded; so these names get a
#: plain % at the end, which no other name has.
DOTS = {b".": ".%", b"..": "..%"}


def shown(data: bytes, most_bytes: int = LISTED_BYTES) -> dict[str, Any]:
    """A value for the page."""
    part = data[:most_bytes]
    told: dict[str, Any] = {"bytes": len(data)} if len(data) > len(part) else {}
    try:
        return {"text": part.decode(), **told}
    except UnicodeDecodeError as error:
        # The cut may be inside the last character.
        if told and error.start > len(part) - LONGEST_CHARACTER:
            return {"text": part[: error.start].decode(), **told}
        return {"base64": base64.b64encode(part).decode(), "bytes": len(data)}


def name(data: bytes) -> str:
    """A name for people; bytes that are not UTF-8 get a mark."""
    return data.decode("utf-8", "backslashreplace")


def key_of(data: bytes) -> str:
    """A name for addresses."""
    return DOTS.get(data) or quote_from_bytes(data, safe="")


def name_of(key: str) -> bytes:
    """The name that an address stands for."""
    return next((data for data, known in DOTS.items() if known == key), unquote_to_bytes(key))


def fields(words: list[bytes], most_bytes: int = LISTED_BYTES) -> list[list[dict[str, Any]]]:
    """Fields in their order; a name may occur twice."""
    return [
        [shown(one, most_bytes), shown(value, most_bytes)]
        for one, value in zip(words[::2], words[1::2], strict=True)
    ]


def size_of(words: list[bytes]) -> int:
    """How many bytes an entry holds."""
    return sum(map(len, words))
