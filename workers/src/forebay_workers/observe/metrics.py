"""Counts of a worker, and of several together, in Prometheus's format.

    counts     what this process did, by stream          Metrics, a hook
    state      what it holds now, and the server's facts: lag, pending, dead letters
    report     both, as plain values that can be sent from one process to another

Counts and held messages of several processes are added up.  The server's facts are the same for
all, so the latest counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forebay_workers.message import Message
from forebay_workers.observe.hooks import Hooks
from forebay_workers.partitioned import name_of

#: Name of a value -> its help text.  These are added up.
COUNTS = {
    "fetched": "messages fetched from the server",
    "handled": "messages whose handler succeeded",
    "failed": "failed attempts that are followed by another attempt",
    "buried": "messages that became dead letters",
    "lost": "messages that another worker claimed",
    "seconds": "seconds in handlers that succeeded",
}
GAUGES = {
    "held": "messages that workers hold",
    "running": "handlers that run now",
}
#: Facts from the server.
SERVER = {
    "lag": "entries that the group has not read",
    "pending": "entries that are delivered and not acknowledged",
    "dead": "dead letters",
}
Report = dict[str, dict[str, float]]


class Metrics(Hooks):
    """Counts events by stream."""

    def __init__(self) -> None:
        self.counts: Report = {}

    def _add(self, stream: str, name: str, amount: float = 1) -> None:
        counts = self.counts.setdefault(stream, dict.fromkeys(COUNTS, 0.0))
        counts[name] += amount

    def fetched(self, stream: str, count: int) -> None:
        self._add(stream, "fetched", count)

    def handled(self, message: Message, seconds: float) -> None:
        self._add(message.stream, "handled")
        self._add(message.stream, "seconds", seconds)

    def failed(self, message: Message, error: BaseException, pause_s: float) -> None:
        self._add(message.stream, "failed")

    def buried(self, message: Message, error: BaseException) -> None:
        self._add(message.stream, "buried")

    def lost(self, message: Message) -> None:
        self._add(message.stream, "lost")


def together(reports: Iterable[Mapping[str, Mapping[str, float]]]) -> Report:
    """The reports of several processes as one."""
    found: Report = {}
    for report in reports:
        for stream, values in report.items():
            row = found.setdefault(stream, dict.fromkeys((*COUNTS, *GAUGES), 0.0))
            for name, value in values.items():
                row[name] = value if name in SERVER else row.get(name, 0.0) + value
    return found


def whole(report: Mapping[str, Mapping[str, float]]) -> Report:
    """A report with one row for all partitions of a stream."""
    found: Report = {}
    for stream, values in report.items():
        row = found.setdefault(name_of(stream), {})
        for name, value in values.items():
            row[name] = row.get(name, 0.0) + value
    return found


def prometheus(report: Mapping[str, Mapping[str, float]]) -> str:
    """A report in Prometheus's text format."""
    lines = []
    for names, kind, end in ((COUNTS, "counter", "_total"), ({**GAUGES, **SERVER}, "gauge", "")):
        for name, told in names.items():
            metric = f"forebay_worker_{name}{end}"
            lines += [f"# HELP {metric} {told}", f"# TYPE {metric} {kind}"]
            for stream, values in sorted(report.items()):
                if name in values:
                    lines.append(f'{metric}{{stream="{_escaped(stream)}"}} {values[name]:.10g}')
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
