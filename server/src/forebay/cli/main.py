"""The ``forebay`` command: finds the command that a line names, and hands it the rest.

    forebay --version, --help     answered here
    forebay serve ...             serve.py, which hands the words to the configuration
    forebay check, add, ...       apps.py runs their apps, on cyclopts
    forebay sql, ...              the same, brought by another package (plugins.py)

Start-up time is part of the product, so only what is needed is imported: a server starts without
the library that parses the other commands' lines, and without a look at which packages are
installed.

Exit codes: 0 all is well; 1 it could not be done, and one sentence on standard error says why;
2 the line could not be understood.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import forebay
from forebay.cli.plugins import EXTRAS, PluginError, Row, found, how_to_get
from forebay.errors import ForebayError

#: Commands about streams, against any server.
STREAM_COMMANDS: dict[str, Row] = {
    "add": ("forebay.cli.streams.add:app", "add entries to a stream"),
    "range": ("forebay.cli.streams.read_range:app", "print entries between two IDs or moments"),
    "tail": ("forebay.cli.streams.tail:app", "print the last entries, and follow new ones"),
    "info": ("forebay.cli.streams.info:app", "a summary of a server, or of its streams"),
    "groups": ("forebay.cli.streams.groups:app", "consumer groups: list, create, reset, delete"),
    "consumers": ("forebay.cli.streams.consumers:app", "consumers of a group: list, delete"),
    "pending": (
        "forebay.cli.streams.pending:app",
        "unacknowledged entries: list, claim, ack, nack",
    ),
    "trim": ("forebay.cli.streams.trim:app", "remove the oldest entries of a stream"),
    "copy": (
        "forebay.cli.copying.copy:app",
        "copy streams to streams and files, and back",
    ),
    "top": ("forebay.cli.watching.top:app", "streams and groups as a live table"),
    "bench": ("forebay.cli.watching.bench:app", "measure a server, or two against each other"),
}

#: Our own commands: name -> (where its app is, what it does in a few words).
COMMANDS: dict[str, Row] = {
    "serve": ("forebay.cli.directives:app", "start a server"),
    "check": ("forebay.cli.check:app", "verify a data directory, an AOF or a snapshot; repair it"),
    "dump": ("forebay.cli.dump:app", "show what is inside an AOF or a snapshot"),
    "doctor": ("forebay.cli.doctor.examine:app", "examine this machine and a server; give advice"),
    **STREAM_COMMANDS,
    "completion": ("forebay.cli.completion:app", "let the shell complete commands and options"),
}

INTERRUPTED = 130  # the exit code of shells for ctrl-c

HELP = """\
Forebay, a stream server that speaks the Redis protocol.

usage: forebay COMMAND [...]

{commands}

  forebay COMMAND --help    the options of a command, with examples
  forebay --version         the version, and whether the core runs compiled

A first minute, with this command or any Redis client:
  forebay serve --port 6379 --dir data &
  forebay add orders item=tea price=3.20
  forebay tail -f orders
  redis-cli XADD orders '*' item coffee price 4.10

A redis.conf or valkey.conf works as it is:
  forebay serve /etc/redis/redis.conf
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code."""
    show_any_name()
    args = list(sys.argv[1:] if argv is None else argv)
    try:
        return answer(args)
    except ForebayError as error:
        sys.stderr.write(f"forebay: {error}\n")
        return 1
    except KeyboardInterrupt:  # while a command is still being imported
        return INTERRUPTED


def show_any_name() -> None:
    """Show bytes in paths that are not text as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def answer(args: list[str]) -> int:
    """Run one command line; may raise a known error."""
    if not args or args[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0
    if args[0] in ("-v", "-V", "--version", "version"):
        sys.stdout.write(version_text() + "\n")
        return 0
    if args[0] == "serve":
        from forebay.cli.serve import run

        return run(args[1:])
    return run_app(args)


def run_app(args: list[str]) -> int:
    """Run one command, ours or of another package."""
    name = args[0]
    rows = COMMANDS if name in COMMANDS else commands()
    if name in rows:
        from forebay.cli.apps import root, run

        return run(root({name: rows[name]}), args)
    if name in EXTRAS:
        raise PluginError(how_to_get(name))
    meant = meant_by(args)
    hint = f"did you mean: forebay {meant}" if meant else "try: forebay --help"
    sys.stderr.write(f"forebay: no command '{name}'; {hint}\n")
    return 2


def commands() -> dict[str, Row]:
    """All commands: our own, and those of the packages that are installed."""
    return COMMANDS | {name: row for name, row in found().items() if name not in COMMANDS}


def meant_by(args: Sequence[str]) -> str:
    """The line that the user may have meant by one without a command; empty if none is near."""
    from forebay.server.config.nearest import nearest

    if args[0].startswith("--") or args[0].endswith(".conf"):
        return " ".join(["serve", *args])
    name = nearest(args[0], [*commands(), *EXTRAS])
    return " ".join([name, *args[1:]]) if name else ""


def help_text() -> str:
    """The text of ``forebay --help``."""
    rows, broken = COMMANDS, ""
    try:
        rows = commands()
    except PluginError as error:
        broken = f"\n\n  {error}"
    lines = [f"  {name:<12}{summary}" for name, (_, summary) in rows.items()]
    for extra in sorted(set(EXTRAS.values())):
        missing = [name for name in EXTRAS if EXTRAS[name] == extra and name not in rows]
        if missing and not broken:
            lines.append(f"\n  {', '.join(missing)}: pip install 'forebay[{extra}]' brings them")
    return HELP.format(commands="\n".join(lines) + broken)


def version_text() -> str:
    """The text of ``forebay --version``."""
    how = forebay.build()
    python = ".".join(str(part) for part in sys.version_info[:3])
    return f"forebay {forebay.__version__} ({how}, Python {python})"
