"""Commands that other packages bring, found by their entry points.

    [project.entry-points."forebay.commands"]
    spark = "forebay_spark.cli:COMMANDS"

An entry point names a table: for each command the place of its app, an ``App`` of cyclopts with
the same name, and what it does in a few words.

    COMMANDS = {"sql": ("forebay_spark.cli.sql:app", "SQL over streams and their lake")}

The table's module imports nothing heavy, so ``forebay --help`` knows all commands without
starting any.  A function of an app returns an exit code (None is 0), writes its own output,
errors included, and raises only for its own bugs; apps.py handles a line that cannot be
understood, ``--help``, ctrl-c and a closed pipe.

The start of a server searches no packages: only a command that is not one of the server's own
does.
"""

from __future__ import annotations

from collections.abc import Mapping

from forebay.errors import ForebayError

GROUP = "forebay.commands"
#: Where the app of a command is, ``module:name``; what the command does, in a few words.
Row = tuple[str, str]

#: Commands of packages that are not always installed, and the extra that brings each.
EXTRAS = {
    **dict.fromkeys(("pipeline", "lake", "sql"), "spark"),
    **dict.fromkeys(("work", "dead"), "workers"),
    "console": "console",
}


class PluginError(ForebayError):
    """The commands of another package are missing or broken; the text says what to do."""


def found() -> dict[str, Row]:
    """All commands of other installed packages."""
    from importlib.metadata import entry_points

    rows: dict[str, Row] = {}
    for point in entry_points(group=GROUP):
        try:
            table: Mapping[str, Row] = point.load()
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"the commands of {point.value} cannot be loaded ({error}); install it again"
            ) from error
        rows |= table
    return rows


def how_to_get(name: str) -> str:
    """The sentence about a known command that is not installed."""
    return f"{name} is not installed; get it with: pip install 'forebay[{EXTRAS[name]}]'"
