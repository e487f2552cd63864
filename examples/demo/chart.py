"""A small chart in text: bars of eighths of a character, or of # where those cannot be shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence

EIGHTHS = " ▏▎▍▌▋▊▉█"
WIDTH = 32


def bar(value: float, most: float, width: int = WIDTH, fine: bool | None = None) -> str:
    """A bar whose share of the width is the value's share of the maximum."""
    if fine is None:
        fine = "utf" in (sys.stdout.encoding or "").lower()
    eighths = round(value / most * width * 8) if most > 0 else 0
    if not fine:
        return "#" * round(eighths / 8)
    return (EIGHTHS[-1] * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def chart(rows: Sequence[tuple[str, float, str]]) -> list[str]:
    """Lines of label, bar and text; the longest bar has the greatest value."""
    label_width = max((len(label) for label, _, _ in rows), default=0)
    most = max((value for _, value, _ in rows), default=0)
    return [
        f"{label:<{label_width}}  {bar(value, most):<{WIDTH}}  {text}"
        for label, value, text in rows
    ]
