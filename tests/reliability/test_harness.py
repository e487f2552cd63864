"""The harness itself: the list of goals, the JSON lines, the table in the documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reliability import run, table
from reliability.goals import GOALS, Goal, Outcome


def broken_promise(n: int, seed: int, scratch: Path) -> Outcome:
    """A goal for these tests: every third attempt fails."""
    assert scratch.is_dir()
    outcome = Outcome(n=n)
    outcome.failures = [f"attempt {i} of seed {seed}" for i in range(0, n, 3)]
    outcome.count("attempts_seen", n)
    return outcome


GOAL = Goal("R0", "nothing breaks", "attempts", 6, 60, f"{__name__}:broken_promise")


def test_every_goal_has_a_function_a_promise_and_more_attempts_at_night() -> None:
    assert len({goal.id for goal in GOALS}) == len(GOALS)
    for goal in GOALS:
        assert callable(goal.function())
        assert goal.promise
        assert 0 < goal.quick <= goal.full


def test_a_run_is_one_json_line_and_its_exit_code_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "GOALS", (GOAL,))
    monkeypatch.setattr(Goal, "function", lambda self: broken_promise)
    out = tmp_path / "lines.jsonl"
    monkeypatch.setattr("sys.argv", ["run", "--seed", "5", "--out", str(out)])
    assert run.main() == 1
    said = capsys.readouterr()
    line: dict[str, Any] = json.loads(said.out)
    assert (line["id"], line["seed"], line["n"], line["failures"]) == ("R0", 5, 6, 2)
    assert line["first_failures"] == ["attempt 0 of seed 5", "attempt 3 of seed 5"]
    assert {"cpu", "cores", "kernel", "python", "forebay"} <= line["machine"].keys()
    assert "BROKEN: attempt 3 of seed 5" in said.err
    assert json.loads(out.read_text()) == line


def test_an_unknown_goal_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        run.chosen("R1,R999")
    assert end.value.code == 2
    assert "no goal R999; there are: R1 " in capsys.readouterr().err
    assert [goal.id for goal in run.chosen("r5, R1")] == ["R1", "R5"]


def line(goal: str, n: int, failures: int = 0, kernel: str = "6.1") -> str:
    facts = {"cpu": "a", "kernel": kernel}
    return json.dumps(
        {
            "id": goal,
            "seed": 7,
            "n": n,
            "failures": failures,
            "seconds": 1.25,
            "machine": facts,
            "figures": {"entries_examined": 12345},
        }
    )


PAGE = f"before\n{table.START}\nold\n{table.END}\nafter\n"


def test_the_table_is_written_between_the_markers_and_nowhere_else() -> None:
    lines = table.read_lines("\n".join([line("R1", 10), line("R2", 5), line("R1", 200)]))
    page = table.page_with(PAGE, lines)
    assert page.startswith(f"before\n{table.START}\n")
    assert page.endswith(f"{table.END}\nafter\n")
    assert "old" not in page
    assert "| 200 kills | **0** |" in page
    assert "10 kills" not in page
    assert "entries examined 12,345" in page
    assert page.count("Measured on cpu a, kernel 6.1: R1, R2.") == 1
    assert table.page_with(page, lines) == page


def test_figures_of_two_machines_are_told_apart() -> None:
    lines = table.read_lines("\n".join([line("R1", 10), line("R2", 5, 3, "6.2")]))
    page = table.page_with(PAGE, lines)
    assert "| 5 kills | **3** |" in page
    assert "kernel 6.1: R1." in page
    assert "kernel 6.2: R2." in page


def test_the_documentation_has_the_markers() -> None:
    text = table.PAGE.read_text()
    assert text.count(table.START) == text.count(table.END) == 1
