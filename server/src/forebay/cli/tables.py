"""Tables for a person: drawn by rich on a terminal, plain and aligned in a pipe.

Names and numbers of a table are never cut, so that they can be copied: a pipe has no width, and on
a terminal a cell continues in the next line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from forebay.cli.output import number

if TYPE_CHECKING:
    from rich.table import Table

Cell = str | int | float | None
#: Wider than any table; a pipe has no edge.
PIPE_WIDTH = 100_000


def show_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table."""
    from rich.console import Console

    table = made_table(columns, rows)
    if sys.stdout.isatty():
        Console(highlight=False).print(table)
        return
    console = Console(width=PIPE_WIDTH, highlight=False, color_system=None)
    with console.capture() as told:
        console.print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in told.get().splitlines()))


def made_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    """The table of rich; numbers are aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False)
    for at, name in enumerate(columns):
        is_number = any(isinstance(row[at], int | float) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    return table


def cell_text(cell: Cell) -> str:
    """One cell; an unknown value is a dash."""
    if cell is None:
        return "-"
    if isinstance(cell, int):
        return number(cell)
    return f"{cell:,.1f}" if isinstance(cell, float) else cell
