"""The state of all pipelines of a server, from their reports in ``forebay:pipelines``.

    started, batch, idle    running: an idle job reports that once a minute
    stopped, failed         as it ended
    running, but no report for five minutes      silent: killed, or busy with one long batch

Times are those of the server, which gave the reports their IDs; the clock of this machine is not
used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from forebay_spark import ids
from forebay_spark.options import WRITE, read_options
from forebay_spark.pipeline.watch import LAKE, PIPELINES
from forebay_spark.servers.connect import Server

RUNNING, SILENT = "running", "silent"
STATES = {"started": RUNNING, "batch": RUNNING, "idle": RUNNING}
SILENT_AFTER_S = 300.0
PAGE = 1000

Entry = tuple[str, Mapping[str, str]]


@dataclass(frozen=True)
class Status:
    """The last known state of one pipeline."""

    pipeline: str
    state: str
    at_ms: int
    ago_s: float = 0.0
    batch: int | None = None
    rows: int | None = None
    rows_per_s: float | None = None
    duration_ms: int | None = None
    lag_entries: int | None = None
    lag_s: float | None = None
    text: str = ""

    @property
    def lag(self) -> str:
        """For a person."""
        if self.lag_entries is None:
            return "unknown"
        behind = f", {self.lag_s:.1f} s" if self.lag_s else ""
        return f"{self.lag_entries:,} entries{behind}"

    @property
    def at(self) -> str:
        """The time of its last report, in UTC."""
        return datetime.fromtimestamp(self.at_ms / 1000, UTC).isoformat(timespec="seconds")


def fold(entries: Iterable[Entry], now_ms: int) -> list[Status]:
    """The states from all reports, by the name of the pipeline."""
    known: dict[str, Status] = {}
    for entry_id, told in entries:
        name, event = told.get("pipeline"), told.get("event", "")
        if name is None or event == LAKE:
            continue
        at_ms = ids.parse(entry_id).ms
        before = known.get(name) or Status(name, "", at_ms)
        state, text = STATES.get(event, event), told.get("text", "")
        known[name] = replace(
            before,
            state=state,
            at_ms=at_ms,
            ago_s=max(0.0, (now_ms - at_ms) / 1000),
            text="" if state == RUNNING else text,
            **(_numbers(told) if event == "batch" else {}),
        )
    return [_judged(known[name]) for name in sorted(known)]


def _judged(status: Status) -> Status:
    is_silent = status.state == RUNNING and status.ago_s > SILENT_AFTER_S
    return replace(status, state=SILENT) if is_silent else status


def _numbers(told: Mapping[str, str]) -> dict[str, Any]:
    """The numbers of a batch; a missing one is unknown."""
    whole = ("batch", "rows", "duration_ms", "lag_entries")
    return {
        name: (int if name in whole else float)(told[name]) if name in told else None
        for name in (*whole, "rows_per_s", "lag_s")
    }


def read(access: Mapping[str, str]) -> list[Status]:
    """The pipelines that report to a server."""
    options = read_options({**access, "stream": PIPELINES}, WRITE)
    with closing(Server(options)) as server:
        link, entries, start = server.link(PIPELINES), [], "-"
        while True:
            page = link.call("XRANGE", PIPELINES, start, "+", "COUNT", PAGE)
            entries += [_entry(entry_id, flat) for entry_id, flat in page]
            if len(page) < PAGE:
                break
            start = f"({page[-1][0].decode()}"
        seconds, micros = link.call("TIME")
    return fold(entries, int(seconds) * 1000 + int(micros) // 1000)


def _entry(entry_id: bytes, flat: list[bytes]) -> Entry:
    texts = [part.decode("utf-8", "replace") for part in flat]
    return entry_id.decode(), dict(zip(texts[0::2], texts[1::2], strict=True))
