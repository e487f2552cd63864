"""Numbers from texts, and back: 35 µs, 2.5 MB, 3 days, or 64mb as CONFIG SET takes it."""

from __future__ import annotations

MB = 1 << 20
#: No entry is pending this long (ten years); ``forebay pending nack`` makes it look so.
RELEASED_MS = 10 * 365 * 86_400_000

_SIZES = ((1 << 40, "TB"), (1 << 30, "GB"), (MB, "MB"), (1 << 10, "KB"))
_SPANS_S = (
    (172_800.0, 86_400.0, "days"),
    (7_200.0, 3_600.0, "hours"),
    (120.0, 60.0, "minutes"),
    (1.0, 1.0, "s"),
    (0.001, 0.001, "ms"),
)


def whole(text: str | None) -> int | None:
    """A text as a whole number, if it is one; no number of ours is longer than 20 digits."""
    text = text or ""
    return int(text) if text.removeprefix("-").isdecimal() and len(text) <= 20 else None


def size(count: float) -> str:
    """``1.5 GB``; units are powers of 1,024, as in redis.conf."""
    for unit, name in _SIZES:
        if abs(count) >= unit:
            return f"{_short(count / unit)} {name}"
    return f"{count:.0f} bytes"


def span(seconds: float) -> str:
    """``35 µs``, ``2.4 ms``, ``90 s``, ``3 days``."""
    for least, unit, name in _SPANS_S:
        if seconds >= least:
            return f"{_short(seconds / unit)} {name}"
    return f"{_short(seconds * 1e6)} µs"


def held_for(idle_ms: int) -> str:
    """How long an entry has been pending; a released one has no time, or looks very old."""
    return "released" if idle_ms < 0 or idle_ms > RELEASED_MS else f"for {span(idle_ms / 1000)}"


def _short(value: float) -> str:
    """Two digits, or all digits before the point."""
    return f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:,.0f}"


def sysctl(name: str, value: int) -> str:
    """A shell line that changes a setting of the kernel, now and for the next start."""
    return f"echo {name}={value} | sudo tee -a /etc/sysctl.d/forebay.conf && sudo sysctl --system"


def directive_size(least: float) -> str:
    """A size of at least ``least`` bytes, as a directive takes it: a power of two in mb."""
    size_mb = 1
    while size_mb * MB < least:
        size_mb *= 2
    return f"{size_mb}mb"
