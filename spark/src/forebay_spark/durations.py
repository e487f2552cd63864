"""Durations as a person writes them: ``10 seconds``, ``5m``, ``1.5h``, ``250ms``."""

from __future__ import annotations

import re

_UNIT_MS = {"ms": 1, "millisecond": 1, "s": 1000, "second": 1000, "m": 60_000, "minute": 60_000,
            "h": 3_600_000, "hour": 3_600_000, "d": 86_400_000, "day": 86_400_000}  # fmt: skip
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)

WANTED = "a time such as '10 seconds', '5 minutes', '1h' or '250ms'"


def read_ms(text: str) -> int:
    """Milliseconds; ValueError says which form is expected."""
    found = _DURATION.fullmatch(text.strip())
    word = found[2].lower() if found else ""
    unit_ms = _UNIT_MS.get(word) or _UNIT_MS.get(word.removesuffix("s"))
    if found is None or unit_ms is None:
        raise ValueError(WANTED)
    return round(float(found[1]) * unit_ms)


def text_of(ms: int) -> str:
    """Milliseconds as ``read_ms`` reads them, in the largest unit that fits."""
    words = [(word, unit) for word, unit in _UNIT_MS.items() if len(word) > 2 and ms % unit == 0]
    word, unit_ms = max(words, key=lambda pair: pair[1], default=("ms", 1))
    count = ms // unit_ms
    return f"{count} {word}{'s' if count != 1 else ''}"
