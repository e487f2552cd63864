"""Shows measurements to people: on the terminal, in a JSON file, in pages.

    docs/measurements.md   every row
    README.md              ten of them: those of SHOWN, and the weakest of the others
    docs/spark.md          the rows of bench/spark

A table in a page is between two markers.  Each full run replaces it, names the machine it
ran on, and changes nothing else in that page.  Both pages are written from the same lines, so
they agree.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.load import Sample

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "out"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"
README_ROWS = 10
#: Rows of the README that represent their kind; the weakest of the others complete the ten.
SHOWN = (
    "XADD f4 P1",
    "XADD f4 P16",
    "XRANGE 100",
    "XREADGROUP + XACK 100, 4 consumers",
    "XADD f4 P16, everysec",
    "load 1,000,000 entries from the AOF",
    "memory of a pending entry",
)


@dataclass(frozen=True)
class Line:
    """One line of the table: a figure for each server, and the target."""

    name: str
    unit: str
    redis: float
    forebay: float
    first: float
    then: float
    smaller_is_better: bool = False
    redis_cpu_us: float = 0.0
    forebay_cpu_us: float = 0.0
    utilisation: float = 1.0

    @property
    def ratio(self) -> float:
        """The figure of Forebay divided by that of Redis."""
        return self.forebay / self.redis if self.redis else float("nan")

    @property
    def gain(self) -> float:
        """How many times better Forebay is, whether more or less is better."""
        return 1 / self.ratio if self.smaller_is_better else self.ratio

    @property
    def cpu_ratio(self) -> float:
        """How many times less CPU an operation takes."""
        return self.redis_cpu_us / self.forebay_cpu_us if self.forebay_cpu_us else 0.0

    @property
    def reached(self) -> bool:
        """Whether the first target is met; where the client was the limit, by CPU time."""
        if self.smaller_is_better:
            return self.ratio <= self.first
        client_bound = self.utilisation < CLIENT_BOUND
        return max(self.ratio, self.cpu_ratio if client_bound else 0.0) >= self.first


CLIENT_BOUND = 0.9


def line_of(
    name: str, unit: str, targets: tuple[float, float], samples: dict[str, list[Sample]]
) -> Line:
    """Medians of all runs of a row."""
    redis, forebay = samples.get("redis", []), samples.get("forebay", [])
    return Line(
        name,
        unit,
        median([s.rate for s in redis] or [0.0]),
        median([s.rate for s in forebay] or [0.0]),
        *targets,
        redis_cpu_us=median([s.cpu_us for s in redis] or [0.0]),
        forebay_cpu_us=median([s.cpu_us for s in forebay] or [0.0]),
        utilisation=median([s.utilisation for s in forebay] or [1.0]),
    )


def figure(value: float, unit: str) -> str:
    """A number as people write it."""
    if unit in ("us", "bytes", "%"):
        return f"{value:.1f}"
    if unit == "s":
        return f"{value:.2f}"
    for limit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            places = 2 if value < 10 * limit else 1 if letter == "M" else 0
            return f"{value / limit:.{places}f} {letter}"
    return f"{value:.0f}"


def console(line: Line) -> str:
    """One line for the terminal."""
    mark = "    " if not (line.redis and line.forebay) else "ok  " if line.reached else "MISS"
    cpu = f"cpu/op {line.redis_cpu_us:7.3f} {line.forebay_cpu_us:7.3f} us ({line.cpu_ratio:4.1f}x)"
    return (
        f"{mark} {line.name:40} {figure(line.redis, line.unit):>8}"
        f" {figure(line.forebay, line.unit):>8} {line.unit:8} {line.ratio:5.2f}x"
        f"  first {line.first:<4} then {line.then:<4}"
        f" {cpu if line.redis_cpu_us else ''}"
        f"{f' server busy {line.utilisation:.0%}' if line.utilisation < CLIENT_BOUND else ''}"
    )


def table(lines: list[Line], peer: str) -> list[str]:
    """The same as a Markdown table; ``peer`` is the heading of the first column of figures."""
    rows = [
        f"| work | {peer} | Forebay | ratio | CPU per operation, {peer} / Forebay | goal, next |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for line in lines:
        sign = "≤" if line.smaller_is_better else "≥"
        cpu = (
            f"{line.redis_cpu_us:.2f} / {line.forebay_cpu_us:.2f} µs ({line.cpu_ratio:.1f}x)"
            if line.redis_cpu_us
            else ""
        )
        goal = f"{sign} {line.first}, {sign} {line.then}"
        rows.append(f"{figures(line)} {cpu} | {goal} |")
    return rows


def short_table(lines: list[Line], peer: str) -> list[str]:
    """The rows of the README, without the columns that only developers read."""
    head = [f"| work | {peer} | Forebay | ratio |", "|---|---:|---:|---:|"]
    return head + [figures(line) for line in for_readme(lines)]


def figures(line: Line) -> str:
    """The cells that both pages have: the work, both figures and their ratio."""
    unit = {"us": "µs", "bytes": "B", "s": "s", "%": "%"}.get(line.unit, f"{line.unit}/s")
    return (
        f"| {line.name} | {figure(line.redis, line.unit)} {unit} "
        f"| {figure(line.forebay, line.unit)} {unit} | **{line.ratio:.2f}x** |"
    )


def for_readme(lines: list[Line]) -> list[Line]:
    """The lines of SHOWN and the weakest of the others, in the order of the whole table."""
    others = sorted((line for line in lines if line.name not in SHOWN), key=lambda one: one.gain)
    weakest = others[: README_ROWS - len(SHOWN)]
    return [line for line in lines if line.name in SHOWN or line in weakest]


def write_pages(lines: list[Line], facts: dict[str, str]) -> None:
    """The whole table in docs/measurements.md, ten rows of it in README.md."""
    peer = peer_of(facts)
    how = (
        f"{told(facts)}. "
        f"A ratio is Forebay / {peer}: above 1 is faster; for times and bytes, below 1 is better. "
        "*f4* is an entry of four fields, *Pn* a pipeline of n commands on each of 50 connections."
    )
    note = (
        f"Medians of interleaved runs; server on one core, load generator on the other. {how} "
        "Where the load generator is the limit, the CPU time is the figure to read."
    )
    write_between_markers(ROOT / "docs" / "measurements.md", note, table(lines, peer))
    write_between_markers(ROOT / "README.md", f"Measured on {how}", short_table(lines, peer))


def peer_of(facts: dict[str, str]) -> str:
    """The server that Forebay was measured against, with its version."""
    for name in ("redis", "valkey", "dragonfly"):
        if name in facts:
            return f"{name.capitalize()} {facts[name]}"
    return "the other server"


def told(facts: dict[str, str]) -> str:
    """The machine and the versions in one line."""
    return ", ".join(f"{k} {v}" for k, v in facts.items())


def write_between_markers(path: Path, note: str, rows: list[str]) -> None:
    """Put a note and a table between the markers of a page, if it has them."""
    text = path.read_text()
    if START not in text or END not in text:
        print(f"{path.name} has no bench markers; its table was not written")
        return
    body = "\n".join([START, "", note, "", *rows, "", END])
    pattern = re.compile(re.escape(START) + ".*?" + re.escape(END), re.DOTALL)
    path.write_text(pattern.sub(lambda _: body, text))


def write_json(
    lines: Sequence[Any], facts: dict[str, str], more: dict[str, Any], name: str = "bench"
) -> Path:
    """Write all figures of the run to bench/out; lines are dataclasses with a ratio."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / time.strftime(f"{name}-%Y%m%d-%H%M%S.json")
    rows = [{**asdict(line), "ratio": line.ratio, "reached": line.reached} for line in lines]
    path.write_text(json.dumps({"machine": facts, "rows": rows, **more}, indent=1))
    return path
