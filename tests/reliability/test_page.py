"""The table of docs/durability.md: a run of some goals replaces their rows, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from reliability.goals import GOALS
from reliability.table import END, START, page_with

EMPTY = f"# Before\n\n{START}\n{END}\n\nafter\n"


def line(id_: str, failures: int = 0, cpu: str = "one") -> dict[str, Any]:
    run = {"id": id_, "n": 1000, "failures": failures, "seconds": 2.0, "seed": 7}
    return {**run, "machine": {"cpu": cpu}}


def page_of(*lines: dict[str, Any], before: str = EMPTY) -> str:
    return page_with(before, {each["id"]: each for each in lines})


def test_a_run_of_some_goals_replaces_their_rows_and_keeps_the_others() -> None:
    first = page_of(*(line(goal.id) for goal in GOALS))
    again = page_of(line("R8", failures=3, cpu="two"), before=first)
    changed = [
        new for old, new in zip(first.split("\n"), again.split("\n"), strict=False) if old != new
    ]
    assert changed[0].startswith("| R8 |")
    assert "**3**" in changed[0]
    assert again.count("\n| R") == len(GOALS)
    assert "Measured on cpu two: R8." in again
    assert "R7, R9" in again


def test_the_order_of_the_rows_is_that_of_the_goals_whatever_was_run_first() -> None:
    pages = [page_of(line("R8"), before=page_of(line("R1"))), page_of(line("R1"), line("R8"))]
    pages.append(page_of(line("R1"), before=page_of(line("R8"))))
    assert pages[0] == pages[1] == pages[2]


def test_the_rest_of_the_page_stays() -> None:
    page = page_of(line("R1"))
    assert page.startswith("# Before\n\n" + START)
    assert page.endswith(END + "\n\nafter\n")


def test_a_page_without_markers_is_refused() -> None:
    with pytest.raises(SystemExit, match="has no markers"):
        page_of(line("R1"), before="# nothing here\n")
