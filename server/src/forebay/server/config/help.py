"""The text of ``forebay serve --help DIRECTIVE``: the rows of the tables, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from forebay.errors import ConfigError
from forebay.server.config import user_lines
from forebay.server.config.config import HIDDEN, ROWS, Config
from forebay.server.config.nearest import did_you_mean, nearest
from forebay.server.config.refused import REFUSED
from forebay.server.config.row import Directive

ALL = "all"
WIDTH = 78


def described(names: Sequence[str]) -> str:
    """The help of these directives; raises ConfigError for an unknown name."""
    if [name.lower() for name in names] == [ALL]:
        return "".join(_line(row) for name, row in ROWS.items() if _is_listed(name, row))
    return "\n".join(_page(name.lstrip("-").lower()) for name in names)


def _is_listed(name: str, row: Directive) -> bool:
    return name == row.name and name not in HIDDEN


def _line(row: Directive) -> str:
    return f"{row.name} {_default(row)}\n    {row.doc}\n"


def _page(name: str) -> str:
    if name == "user":  # no row: it has no value that CONFIG GET could show
        return user_lines.HELP
    row, refusal = ROWS.get(name), REFUSED.get(name)
    if row is None and refusal is None:
        hint = did_you_mean(nearest(name, ROWS))
        raise ConfigError(f"no directive '{name}'{hint}")
    lines = [name]
    if row is not None:
        when = "at once, with CONFIG SET" if row.mutable else "at the next start"
        lines += [f"  value: {row.kind.name}", f"  default: {_default(row)}"]
        lines += [f"  a change takes effect: {when}", *_wrapped(row.doc)]
    if refusal is not None:
        lines += _wrapped(str(refusal))
    return "\n".join(lines) + "\n"


def _default(row: Directive) -> str:
    default = Config()
    return row.kind.explain(default.value(row)) or '""'


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
