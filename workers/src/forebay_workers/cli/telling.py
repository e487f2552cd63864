"""Output of commands: answers, errors as one sentence, questions; and shared options."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import Annotated, Any, ParamSpec

from cyclopts import Parameter

from forebay_workers.app import DEFAULT_URL, URL_VARIABLE
from forebay_workers.errors import WorkerError

P = ParamSpec("P")
#: The variable may hold a password, so its value is never printed.
Url = Annotated[
    str,
    Parameter(
        metavar="URL",
        env_var=URL_VARIABLE,
        show_env_var=False,
        help=f"the server ({URL_VARIABLE}, or else {DEFAULT_URL})",
    ),
]
Json = Annotated[
    bool,
    Parameter(help='JSON, one object a line; bytes that are not UTF-8 become {"base64": "..."}'),
]
Yes = Annotated[bool, Parameter(alias="-y", help="do it without asking")]


class ReaderGoneError(Exception):
    """The reader of our output has closed it (``| head``); not a server error."""


def complain(text: str) -> None:
    """Write a sentence for a person to standard error."""
    sys.stderr.write(f"forebay: {text}\n")


def answer(*lines: str) -> None:
    """Write lines of the answer."""
    try:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    except BrokenPipeError:
        raise ReaderGoneError from None


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as the lines of a table; no cell is cut, and the last one may have any length."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    return [
        "  ".join([*(f"{c:<{w}}" for c, w in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]


def agreed(action: str, *, yes: bool) -> bool:
    """Whether the user agrees: by --yes, or by an answer; without a terminal the answer is no."""
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        complain(f"nothing was done: to {action}, say --yes")
        return False
    sys.stderr.write(f"{action[0].upper()}{action[1:]}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    complain("nothing was done")
    return False


def told(
    command: Callable[P, Coroutine[Any, Any, int | None]],
) -> Callable[P, int]:
    """A coroutine as a command; expected errors become one sentence."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> int:
        try:
            return asyncio.run(command(*args, **kwargs)) or 0
        except ReaderGoneError:
            raise BrokenPipeError from None
        except WorkerError as error:
            complain(str(error))
        return 1

    return run
