"""Pipelines on Spark, from their reports in the stream ``forebay:pipelines``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from forebay.cli.remote.facts import ms_of
from forebay_console.asking.asked import Asked

STREAM = b"forebay:pipelines"
#: Curves are made of this many newest reports.
MOST_REPORTS = 2_000
CURVE = 60
RUNNING, SILENT_AFTER_MS = ("started", "batch", "idle"), 300_000
LAKE_NUMBERS = ("version", "files", "bytes", "committed_ms")
NUMBERS = ("batch", "rows", "rows_per_s", "duration_ms", "lag_entries", "lag_s", "late_rows")


def pipelines(asked: Asked) -> dict[str, Any]:
    """Each pipeline as it reported last, with a curve of its batches."""
    found: dict[str, dict[str, Any]] = {}
    for at_ms, told in reports(asked):
        fold(found, at_ms, told)
    now_ms = asked.board.server.now_ms
    for one in found.values():
        one["ago_ms"] = now_ms - one["at_ms"]
        if one["state"] == "running" and one["ago_ms"] > SILENT_AFTER_MS:
            one["state"] = "silent"
    return {"pipelines": sorted(found.values(), key=lambda one: one["name"])}


def reports(asked: Asked) -> Iterator[tuple[int, dict[str, str]]]:
    """The reports of jobs with their times, the newest last."""
    page = asked.server.ask("XREVRANGE", STREAM, "+", "-", "COUNT", MOST_REPORTS)
    for entry_id, words in reversed(page):
        texts = [word.decode("utf-8", "replace") for word in words]
        yield ms_of(entry_id.decode()), dict(zip(texts[::2], texts[1::2], strict=True))


def fold(found: dict[str, dict[str, Any]], at_ms: int, told: dict[str, str]) -> None:
    """Add one report."""
    name, event = told.get("pipeline"), told.get("event", "")
    if name is None:
        return
    known = found.setdefault(
        name,
        {"name": name, "state": "running", "curve": [], "lag_curve": [], "text": "", "lakes": []},
    )
    known["at_ms"] = at_ms
    if event == "lake":
        note_lake(known["lakes"], at_ms, told)
        return
    known["state"] = "running" if event in RUNNING else event
    known["text"] = told.get("text", "") if event not in RUNNING else known["text"]
    if event != "batch":
        return
    known |= {one: number(told[one]) if one in told else None for one in NUMBERS}
    known["curve"] = [*known["curve"], known["rows_per_s"]][-CURVE:]
    known["lag_curve"] = [*known["lag_curve"], known["lag_entries"]][-CURVE:]


def note_lake(lakes: list[dict[str, Any]], at_ms: int, told: dict[str, str]) -> None:
    """A table of a lake as it is now."""
    path = told.get("lake", "")
    numbers = {one: number(told[one]) if one in told else None for one in LAKE_NUMBERS}
    lakes[:] = [one for one in lakes if one["path"] != path]
    lakes.append({"path": path, "at_ms": at_ms, **numbers})


def number(text: str) -> float | None:
    """A number of a report; None if it is not a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
