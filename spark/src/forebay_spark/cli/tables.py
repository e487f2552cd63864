"""Tables for a person: drawn by rich on a terminal, plain text with aligned columns in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from forebay_spark.query.results import Row, render, text


def show_table(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Print a table; no cell is cut, each takes as many lines as it needs."""
    if sys.stdout.isatty():
        draw(columns, rows)
    else:
        sys.stdout.write(render(columns, rows, widest=None))


def draw(columns: Sequence[str], rows: Sequence[Row]) -> None:
    """A table as wide as the terminal; numbers are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, name in enumerate(columns):
        is_number = bool(rows) and all(isinstance(row[at], int | float) for row in rows)
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(text(cell)) for cell in row))
    Console(highlight=False).print(table)
