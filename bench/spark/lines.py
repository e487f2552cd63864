"""A line of the table: our figure, the one it is compared with, and the target of the ratio.

Cases are measured in turns, round after round, so that other programs on the machine hurt them
alike; the figure is the median.  A case in Spark runs once before, to warm up: Spark compiles
a query when it first runs, and starts Python workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench.report import figure

Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Line:
    """One comparison; without a target it is only reported."""

    name: str
    against: str
    unit: str
    ours: float
    theirs: float
    target: float | None = None
    smaller_is_better: bool = False

    @property
    def ratio(self) -> float:
        """Our figure divided by the other one."""
        return self.ours / self.theirs

    @property
    def reached(self) -> bool:
        """Whether the ratio is as it should be."""
        if self.target is None:
            return True
        return self.ratio <= self.target if self.smaller_is_better else self.ratio >= self.target

    @property
    def goal(self) -> str:
        """The target of the ratio, as text."""
        if self.target is None:
            return ""
        return f"{'≤' if self.smaller_is_better else '≥'} {self.target}"

    def console(self) -> str:
        """The line for the terminal."""
        mark = "    " if self.target is None else "ok  " if self.reached else "MISS"
        return (
            f"{mark} {self.name:42} {figure(self.ours, self.unit):>8} {self.unit:7}"
            f" {self.against:34} {figure(self.theirs, self.unit):>8}"
            f" {self.ratio:6.2f}x  {self.goal}"
        )


def table(lines: Sequence[Line]) -> list[str]:
    """The lines as a Markdown table."""
    rows = ["| work | | against | | ratio | goal |", "|---|---:|---|---:|---:|---|"]
    for line in lines:
        ours, theirs = (
            f"{figure(value, line.unit)} {line.unit}" for value in (line.ours, line.theirs)
        )
        rows.append(
            f"| {line.name} | {ours} | {line.against} | {theirs} "
            f"| **{line.ratio:.2f}x** | {line.goal} |"
        )
    return rows


def in_turns(rounds: int, cases: Mapping[str, Callable[[], float]]) -> Samples:
    """The result of each case in each round."""
    samples: Samples = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            samples[name].append(run())
    return samples


def warm_in_turns(rounds: int, cases: Mapping[str, Callable[[], float]]) -> Samples:
    """The same after one round that does not count."""
    in_turns(1, cases)
    return in_turns(rounds, cases)


def compare(
    name: str,
    unit: str,
    samples: Samples,
    targets: Mapping[str, float | None],
    *,
    smaller_is_better: bool = False,
) -> list[Line]:
    """The first case against each of the others, by medians."""
    ours, *_ = samples.values()
    return [
        Line(name, other, unit, median(ours), median(samples[other]), target, smaller_is_better)
        for other, target in targets.items()
    ]
