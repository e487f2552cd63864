"""The ``forebay`` command: finds the subcommand and hands it the rest of the line.

Each subcommand is one file here with ``run(args) -> exit code``.  The table
names the file, so that nothing is imported which is not asked for: start-up
time is part of the product.

Exit codes: 0 all is well; 1 it could not be done, and one sentence on standard
error says why; 2 the line could not be understood.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import forebay
from forebay.errors import ForebayError

#: name -> (module with run(), what it does in a few words)
COMMANDS = {
    "serve": ("forebay.cli.serve", "start a server"),
    "check": ("forebay.cli.check", "verify a data directory, a log or a snapshot; repair it"),
    "dump": ("forebay.cli.dump", "show what is inside of a log or a snapshot"),
    "pipeline": ("forebay_spark.cli.pipeline", "jobs on Spark: streams to a lake, windows, replay"),
    "lake": ("forebay_spark.cli.lake", "what a lake holds and how it came to be; vacuum it"),
    "sql": ("forebay_spark.cli.sql", "SQL over streams and their lake as one table"),
}

HELP = """\
Forebay, a stream server that speaks the Redis protocol.

usage: forebay COMMAND [...]

{commands}

  forebay COMMAND --help    what a command takes, with examples
  forebay --version         the version, and whether the core runs compiled

A first minute, with any Redis client:
  forebay serve --port 6379 --dir data &
  redis-cli XADD orders '*' item tea price 3.20
  redis-cli XRANGE orders - +

A redis.conf or valkey.conf is taken as it is:
  forebay serve /etc/redis/redis.conf
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    if not args or args[0] in ("-h", "--help", "help"):
        sys.stdout.write(help_text())
        return 0
    if args[0] in ("-v", "-V", "--version", "version"):
        sys.stdout.write(version_text() + "\n")
        return 0
    if args[0] not in COMMANDS:
        meant = meant_by(args)
        hint = f"did you mean: forebay {meant}" if meant else "try: forebay --help"
        sys.stderr.write(f"forebay: no command '{args[0]}'; {hint}\n")
        return 2
    return run(args[0], args[1:])


def meant_by(args: Sequence[str]) -> str:
    """The line that somebody may have meant by one without a command; empty if none is near."""
    from forebay.server.config.nearest import nearest

    if args[0].startswith("--") or args[0].endswith(".conf"):
        return " ".join(["serve", *args])
    name = nearest(args[0], COMMANDS)
    return " ".join([name, *args[1:]]) if name else ""


def run(name: str, args: list[str]) -> int:
    """One subcommand; a known error becomes one sentence."""
    try:
        code: int = import_module(COMMANDS[name][0]).run(args)
    except ForebayError as error:
        sys.stderr.write(f"forebay: {error}\n")
        return 1
    return code


def help_text() -> str:
    """What ``forebay --help`` prints."""
    rows = [f"  {name:<12}{summary}" for name, (_, summary) in COMMANDS.items()]
    return HELP.format(commands="\n".join(rows))


def version_text() -> str:
    """What ``forebay --version`` prints."""
    how = forebay.build()
    python = ".".join(str(part) for part in sys.version_info[:3])
    return f"forebay {forebay.__version__} ({how}, Python {python})"
