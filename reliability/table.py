"""``python -m reliability.table lines.jsonl``: the figures in docs/durability.md, from a run.

The table is between two markers; nothing else on the page is changed.  A run of some
goals replaces their rows; the rows of all others stay.  If there are several lines for a
goal, the last one counts.  Figures of another machine or build are never mixed silently:
each combination gets its own note below the table.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from reliability.goals import GOALS, Goal

PAGE = Path(__file__).resolve().parent.parent / "docs" / "durability.md"
START, END = "<!-- reliability:start -->", "<!-- reliability:end -->"

Line = dict[str, Any]


def read_lines(text: str) -> dict[str, Line]:
    """The last line of each goal, by its id."""
    lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    return {line["id"]: line for line in lines}


def rows_on(page: str) -> dict[str, str]:
    """The rows that the page has, by the goal's id."""
    return {found[1]: found[0] for found in re.finditer(r"^\| (R[^ ]+) \|.*$", page, re.MULTILINE)}


def row(goal: Goal, line: Line) -> str:
    """Markdown: the result of a goal."""
    return (
        f"| {goal.id} | {goal.promise}{figures_text(line)} | {line['n']:,} {goal.unit} "
        f"| **{line['failures']}** | {line['seconds']:.0f} s | {line['seed']} |"
    )


def table(rows: dict[str, str]) -> list[str]:
    """Markdown: the rows in the order of the goals."""
    return [
        "| goal | promise | tried | broken | time | seed |",
        "|---|---|---:|---:|---:|---:|",
        *(rows[goal.id] for goal in GOALS if goal.id in rows),
    ]


def figures_text(line: Line) -> str:
    """The other figures, shown after the promise."""
    figures = line.get("figures") or {}
    words = [f"{name.replace('_', ' ')} {_number(value)}" for name, value in figures.items()]
    return f" <br>*{', '.join(words)}*" if words else ""


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def machines_on(page: str) -> dict[str, str]:
    """Machine and build that the page names for each goal."""
    notes = re.findall(r"^Measured on (.*): (R\d.*)\.$", page, re.MULTILINE)
    return {id_: facts for facts, ids in notes for id_ in ids.split(", ")}


def machines(by_goal: dict[str, str]) -> list[str]:
    """One sentence for each machine and build the figures come from."""
    by_machine: dict[str, list[str]] = {}
    for goal in GOALS:
        if goal.id in by_goal:
            by_machine.setdefault(by_goal[goal.id], []).append(goal.id)
    return [f"Measured on {facts}: {', '.join(ids)}." for facts, ids in by_machine.items()]


def page_with(page: str, lines: dict[str, Line]) -> str:
    """The page with these lines in the table between its markers."""
    found = re.search(re.escape(START) + ".*?" + re.escape(END), page, re.DOTALL)
    if found is None:
        raise SystemExit(f"{PAGE.name} has no markers {START} ... {END}")
    rows, by_goal = rows_on(found[0]), machines_on(found[0])
    for goal in GOALS:
        if (line := lines.get(goal.id)) is not None:
            rows[goal.id] = row(goal, line)
            facts = line["machine"].items()
            by_goal[goal.id] = ", ".join(f"{name} {value}" for name, value in facts)
    body = "\n".join([START, "", *table(rows), "", *machines(by_goal), "", END])
    return page[: found.start()] + body + page[found.end() :]


def main() -> int:
    """Write the page from the files named on the line."""
    if len(sys.argv) < 2:
        sys.stderr.write("usage: python -m reliability.table LINES.jsonl [...]\n")
        return 2
    text = "\n".join(Path(name).read_text() for name in sys.argv[1:])
    PAGE.write_text(page_with(PAGE.read_text(), read_lines(text)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
