"""``forebay serve`` for shell completion: an option for each directive that a server acts on.

This app starts no server: ``serve`` hands its words to the configuration, which reads them as it
reads a redis.conf (serve.py).  Only the names, docs and values of the options matter.
"""

from __future__ import annotations

from inspect import Parameter as Argument
from inspect import Signature
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay.server.config.kinds import Bool, Choice, Folder, Kind
from forebay.server.config.row import Directive
from forebay.server.config.table import HONOURED

app = App(name="serve", help="Start a server.")


@app.default
def serve() -> None:
    """A placeholder; its signature is made below."""


def option(row: Directive) -> Argument:
    """A directive as an option."""
    kind = Path if isinstance(row.kind, Folder) else str
    told = Parameter(name=f"--{row.name}", help=row.doc, choices=choices(row.kind))
    name = row.name.replace("-", "_")
    return Argument(name, Argument.KEYWORD_ONLY, default="", annotation=Annotated[kind, told])


def choices(kind: Kind[Any]) -> tuple[str, ...] | None:
    """The words that a directive takes, if it takes only some."""
    if isinstance(kind, Bool):
        return ("yes", "no")
    return kind.names if isinstance(kind, Choice) else None


FILE = Argument(
    "file",
    Argument.POSITIONAL_ONLY,
    default=None,
    annotation=Annotated[Path | None, Parameter(name="FILE", help="a file as redis.conf")],
)
serve.__signature__ = Signature([FILE, *map(option, HONOURED)])  # type: ignore[attr-defined]
