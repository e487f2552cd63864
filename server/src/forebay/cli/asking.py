"""Protection against accidents: ``--yes``, or a question that the user answers with y.

--yes            it is done
on a terminal    the question; any answer but y or yes changes nothing
elsewhere        no user can answer, so it is refused with a sentence
"""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from forebay.errors import ForebayError

Yes = Annotated[bool, Parameter(alias="-y", help="do it without a question")]


class NotAgreedError(ForebayError):
    """The user did not agree; nothing was done."""


def agree(action: str, *, yes: bool) -> None:
    """Return if the user agrees; NotAgreedError if not."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise NotAgreedError(f"nothing was done: to {action}, say --yes")
    sys.stderr.write(f"{action[0].upper()}{action[1:]}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NotAgreedError("nothing was done")
