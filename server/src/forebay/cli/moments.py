"""Moments and lengths of time as people write them, and the places in a stream that they name.

    10m, 1.5h, 7d, 250ms           this long ago, by the server's clock
    2026-11-17T09:30:00Z           a moment, ISO 8601; UTC if it names no zone
    1794900000000                  the same in milliseconds since 1970
    1794900000000-3, (1-0, -, +    places: an ID, an excluded ID, first and last of all

The first part of an ID is the millisecond in which it was made, so a moment is a place too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cyclopts import Token

_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)")
_PLACE = re.compile(r"[-+]|\(?\d{1,20}(-\d{1,20})?")
WANTED = "as 10m (this long ago), 2026-11-17T09:30:00Z, or milliseconds since 1970"
LATEST_MS = (1 << 64) - 1
SHORTEST_S = 0.01

Now = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment; ``ms`` counts back from now if it ``is_ago``, else from 1970."""

    ms: int
    is_ago: bool = False

    def at_ms(self, now_ms: Now) -> int:
        """Milliseconds since 1970; the clock is asked only if it matters."""
        return max(0, now_ms() - self.ms) if self.is_ago else self.ms


def parse_length_ms(text: str) -> int:
    """A length of time; ValueError says what is wanted."""
    found = _LENGTH.fullmatch(text.strip().lower())
    if found is None:
        raise ValueError(f"{text!r} is no length of time, as 250ms, 30s, 10m, 2h or 7d")
    return round(float(found[1]) * _UNIT_MS[found[2]])


def parse_moment(text: str) -> Moment:
    """A moment; ValueError says what is wanted."""
    if text == "now":
        return Moment(0, is_ago=True)
    if text.isdecimal() and len(text) <= 20:
        return Moment(min(int(text), LATEST_MS))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return Moment(parse_length_ms(text), is_ago=True)
        except ValueError:
            raise ValueError(f"{text!r} is no time; write it {WANTED}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Moment(max(0, round(moment.timestamp() * 1000)))


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a stream: words for the server, or a moment."""

    words: str = ""
    moment: Moment | None = None

    def bound(self, now_ms: Now) -> str:
        """The place as XRANGE takes it."""
        return self.words if self.moment is None else str(self.moment.at_ms(now_ms))


def parse_place(text: str) -> Place:
    """A place; ValueError says what is wanted."""
    if _PLACE.fullmatch(text):
        return Place(text)
    try:
        return Place(moment=parse_moment(text))
    except ValueError:
        raise ValueError(
            f"{text!r} is no ID and no time; write it as 1794900000000-0, or {WANTED[3:]}"
        ) from None


# For the options of commands


def length_ms(_: Any, tokens: Sequence[Token]) -> int:
    """A length of time."""
    return parse_length_ms(tokens[0].value)


def seconds_up_to(most_s: float) -> Callable[[Any, Sequence[Token]], float]:
    """A number of seconds: how long to watch, or to run."""

    def seconds(_: Any, tokens: Sequence[Token]) -> float:
        text = tokens[0].value
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        if not SHORTEST_S <= seconds <= most_s:
            raise ValueError(f"{text!r} is no number of seconds from {SHORTEST_S} to {most_s:,.0f}")
        return seconds

    return seconds


def moment_of(_: Any, tokens: Sequence[Token]) -> Moment:
    """A moment."""
    return parse_moment(tokens[0].value)


def place_of(_: Any, tokens: Sequence[Token]) -> Place:
    """A place in a stream."""
    text = tokens[0].value
    if text.startswith("--"):
        raise ValueError(f"no option {text}")
    return parse_place(text)


# For people


def iso(ms: int) -> str:
    """A moment in a form that options accept; a number if it is outside the calendar."""
    try:
        moment = datetime.fromtimestamp(ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}Z"
