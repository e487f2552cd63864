"""The report: sections of findings, as text for people or one line of JSON for programs.

    this machine, /var/lib/forebay
      ok       disk sync       A sync takes 0.9 ms (p99 2.1 ms), ...
      advice   huge pages      Transparent huge pages are on for all processes: ...
                               $ echo madvise > /sys/kernel/mm/transparent_hugepage/enabled

    1 piece of advice, no problems

A finding is one line, and so is its command: a wrapped line cannot be copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from forebay.cli.doctor.finding import Finding, Level, count

STYLES = {
    Level.OK: "green",
    Level.ADVICE: "yellow",
    Level.PROBLEM: "bold red",
    Level.UNKNOWN: "dim",
}
LEVEL_WIDTH = 9


@dataclass(frozen=True, slots=True)
class Section:
    """Findings about one thing; ``name`` is for programs, ``title`` for people."""

    name: str
    title: str
    findings: list[Finding]


def verdict(sections: list[Section]) -> Level:
    """The worst level; ``unknown`` does not count."""
    found = {finding.level for section in sections for finding in section.findings}
    return next((level for level in (Level.PROBLEM, Level.ADVICE) if level in found), Level.OK)


def facts(sections: list[Section]) -> dict[str, Any]:
    """The report for programs."""
    return {
        "verdict": verdict(sections),
        "counts": count(every(sections)),
        "findings": [
            {"about": section.name, **asdict(finding)}
            for section in sections
            for finding in section.findings
        ],
    }


def every(sections: list[Section]) -> list[Finding]:
    """All findings in one list."""
    return [finding for section in sections for finding in section.findings]


def show(sections: list[Section]) -> None:
    """Print the report; colours are for terminals."""
    from rich.console import Console

    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    width = max((len(finding.topic) for finding in every(sections)), default=0) + 2
    for section in sections:
        console.print(section.title)
        for finding in section.findings:
            style = STYLES[finding.level]
            console.print(f"  {finding.level:<{LEVEL_WIDTH}}", style=style, end="")
            console.print(f"{finding.topic:<{width}}{finding.sentence}")
            if finding.do:
                console.print(f"{'':<{2 + LEVEL_WIDTH + width}}$ {finding.do}")
        console.print()
    console.print(", ".join(summary(sections)))


def summary(sections: list[Section]) -> Iterator[str]:
    """The last line, in parts."""
    counts = count(every(sections))
    problems, advised = counts[Level.PROBLEM], counts[Level.ADVICE]
    yield f"{problems or 'no'} problem{'' if problems == 1 else 's'}"
    yield f"{advised or 'no'} piece{'' if advised == 1 else 's'} of advice"
    if counts[Level.UNKNOWN]:
        yield f"{counts[Level.UNKNOWN]} unknown"
