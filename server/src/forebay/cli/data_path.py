"""The path that ``check`` and ``dump`` read, as an argument of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token

HELP = """\
a data directory (its AOF and its snapshots), an AOF (its folder, appendonlydir, or its manifest), \
or one file (an AOF file .aof or a snapshot .rdb, ours or of Redis)"""


def path_of(_: Any, tokens: Sequence[Token]) -> Path:
    """A path; an empty word is an error, although ``Path`` takes it as the current directory."""
    if not tokens[0].value:
        raise ValueError("an empty word is no path")
    return Path(tokens[0].value)


#: A path and not text, so that shells complete it.
DataPath = Annotated[Path, Parameter(name="PATH", converter=path_of, help=HELP)]
