"""Commands on cyclopts: from the words of the line to a call, and from its end to an exit code.

    words -> the root app -> the app of one command, imported now -> its function -> exit code

The library reads options from the signatures of functions, prints ``--help`` with rich, and
writes completions.  Our part are the texts of errors (usage.py), the exit codes, and the end of
interrupted commands:

    2    the line could not be understood      130  ctrl-c (main.py, which also guards the imports)
    1    a known error, in one sentence        0    also for a reader that closes the pipe (| head)

Only commands other than ``serve`` import this file: cyclopts takes longer to import than a server
takes to start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import BoundArguments
from typing import Any

from cyclopts import App, CycloptsError, Parameter

from forebay.cli.output import complain
from forebay.cli.plugins import Row
from forebay.cli.usage import LineError, sentence
from forebay.errors import ForebayError

HELP_FLAGS = ("--help", "-h")


def root(rows: Mapping[str, Row]) -> App:
    """An app of these commands; each is imported only when it is used."""
    usual = Parameter(negative=(), allow_repeating=True, show_default=False)
    app = App(
        name="forebay",
        help_format="plaintext",
        help_flags=HELP_FLAGS,
        version_flags=(),
        default_parameter=usual,
        suppress_keyboard_interrupt=False,
    )
    for name, (place, _) in rows.items():
        app.command(place, name=name)
    return app


def understand(app: App, words: Sequence[str]) -> tuple[Callable[..., Any], BoundArguments]:
    """The function that a line asks for, and its arguments; raises CycloptsError."""
    command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    return command, bound


def run(app: App, words: Sequence[str]) -> int:
    """Run one line; the exit code."""
    try:
        command, bound = understand(app, words)
    except CycloptsError as error:
        return refuse(app, words, sentence(error))
    if getattr(command, "__func__", None) is App.help_print:
        return explain(app, bound.arguments["tokens"], words)
    try:
        code = command(*bound.args, **bound.kwargs)
        sys.stdout.flush()
    except LineError as error:
        return refuse(app, words, str(error))
    except ForebayError as error:
        complain(str(error))
        return 1
    except BrokenPipeError:
        # Buffered output would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code or 0


def refuse(app: App, words: Sequence[str], told: str) -> int:
    """Say what is wrong with a line, and where help is if there is no better suggestion."""
    chain, _, _ = app.parse_commands(words)
    complain(told if told.endswith("?") else f"{told}; try: forebay {' '.join(chain)} --help")
    return 2


def explain(app: App, command: Sequence[str], words: Sequence[str]) -> int:
    """Print the help of a command; 2 if it was not asked for, but a word is missing."""
    if not any(flag in words for flag in HELP_FLAGS):
        _, apps, _ = app.parse_commands(command)
        names = ", ".join(name for name in apps[-1] if not name.startswith("-"))
        return refuse(app, words, f"{' '.join(command)} needs one of these words: {names}")
    from rich.console import Console

    # Soft: a line of an example stays one line, even on a narrow terminal.
    app.help_print(command, console=Console(soft_wrap=True, highlight=False))
    return 0
