"""``python -m reliability.table lines.jsonl``: the figures in docs/durability.md, from a run.

The table stands between two markers; nothing else on the page is touched.  Of
several lines for one goal the last one counts, so a single goal can be run again
and appended.  Figures of another machine or build are never mixed silently: each
combination gets its own note below the table.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from reliability.goals import GOALS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "durability.md"
START, END = "<!-- reliability:start -->", "<!-- reliability:end -->"

Line = dict[str, Any]


def read_lines(text: str) -> dict[str, Line]:
    """The last line of each goal, by its id."""
    lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    return {line["id"]: line for line in lines}


def table(lines: dict[str, Line]) -> list[str]:
    """Markdown: one row a goal that was measured."""
    rows = [
        "| goal | promise | tried | broken | time | seed |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for goal in GOALS:
        line = lines.get(goal.id)
        if line is not None:
            rows.append(
                f"| {goal.id} | {goal.promise}{figures_text(line)} | {line['n']:,} {goal.unit} "
                f"| **{line['failures']}** | {line['seconds']:.0f} s | {line['seed']} |"
            )
    return rows


def figures_text(line: Line) -> str:
    """What was counted on the way, after the promise."""
    figures = line.get("figures") or {}
    words = [f"{name.replace('_', ' ')} {_number(value)}" for name, value in figures.items()]
    return f" <br>*{', '.join(words)}*" if words else ""


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def machines(lines: dict[str, Line]) -> list[str]:
    """One sentence for each machine and build the figures come from."""
    by_machine: dict[str, list[str]] = {}
    for line in lines.values():
        facts = ", ".join(f"{name} {value}" for name, value in line["machine"].items())
        by_machine.setdefault(facts, []).append(line["id"])
    return [f"Measured on {facts}: {', '.join(ids)}." for facts, ids in by_machine.items()]


def page_with(page: str, lines: dict[str, Line]) -> str:
    """The page with the table of these lines between its markers."""
    if START not in page or END not in page:
        raise SystemExit(f"{PAGE.name} has no markers {START} ... {END}")
    body = "\n".join([START, "", *table(lines), "", *machines(lines), "", END])
    pattern = re.compile(re.escape(START) + ".*?" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: body, page)


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
