"""Hot commands have one shape: parse, apply, record, in that order.

    xadd(ctx, argv)   options = parse_xadd(...)   apply_xadd(...)   record_xadd(...)

A command that only reads has nothing to record.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from forebay.commands.api.spec import WRITE, Command
from forebay.commands.table import TABLE
from testkit.places import ROOT

STREAMS = ROOT / "server" / "src" / "forebay" / "commands" / "streams"
STEPS = ("parse", "apply", "record")
LARGEST_FILE = 500
#: Command -> the file with its handler.
HOT = {
    "xadd": "xadd",
    "xtrim": "xadd",
    "xread": "xread",
    "xreadgroup": "xreadgroup",
    "xack": "xack",
    "xackdel": "xack",
    "xnack": "xack",
    "xclaim": "xclaim",
    "xautoclaim": "xclaim",
    "xdel": "xdel",
    "xdelex": "xdel",
    "xrange": "xrange",
    "xrevrange": "xrange",
    "fb.columns": "columns",
}


def steps_of(source: str, handler: str) -> list[str]:
    """The steps that a handler calls, in the order of the calls; each once."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    (body,) = [node for node in functions if node.name == handler]
    calls = [node for node in ast.walk(body) if isinstance(node, ast.Call)]
    found = []
    # Of nested calls the inner one ends, and so runs, first.
    for call in sorted(calls, key=lambda call: (call.end_lineno or 0, call.end_col_offset or 0)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        step, _, rest = name.partition("_")
        if rest and step in STEPS and (not found or found[-1] != step):
            found.append(step)
    return found


def wanted(row: Command) -> list[str]:
    return list(STEPS if row.flags & WRITE else STEPS[:2])


def handler_of(command: str) -> str:
    return command.removeprefix("fb.")


@pytest.mark.parametrize("command", HOT)
def test_a_hot_command_parses_applies_and_records(command: str) -> None:
    source = (STREAMS / f"{HOT[command]}.py").read_text()
    steps = steps_of(source, handler_of(command))
    assert steps == wanted(TABLE[command.encode()])


@pytest.mark.parametrize(
    ("body", "steps"),
    [
        ("apply_x(parse_x(argv))", ["parse", "apply"]),
        ("apply_x()\n    parse_x()", ["apply", "parse"]),
        (
            "parse_x()\n    ctx.effects.record_call(argv)\n    apply_x()",
            ["parse", "record", "apply"],
        ),
        ("parse_x()\n    parse_y()\n    if apply_x():\n        record_x()", list(STEPS)),
        ("pass", []),
    ],
)
def test_another_order_is_seen(body: str, steps: list[str]) -> None:
    assert steps_of(f"def x(ctx, argv):\n    {body}\n", "x") == steps


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


@pytest.mark.parametrize("path", sorted(STREAMS.glob("*_options.py")), ids=lambda path: path.stem)
def test_only_a_parser_that_does_not_fit_beside_its_commands_has_a_file_of_its_own(
    path: Path,
) -> None:
    uses = re.compile(rf"^(from|import) .*\b{path.stem}\b", re.MULTILINE)
    commands = [file for file in STREAMS.glob("*.py") if uses.search(file.read_text())]
    assert sum(map(lines, commands)) + lines(path) > LARGEST_FILE
