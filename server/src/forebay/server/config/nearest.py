"""Did you mean: the known word that is nearest to one that is not known.

Looked for only when something is wrong already, so that a start does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Letters that other servers and their clients use, and what they stand for here.
SHORT = {"p": "port", "s": "unixsocket", "a": "requirepass", "c": "include", "d": "daemonize"}


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one; empty if none is."""
    from difflib import get_close_matches  # a start without faults does without it

    return next(iter(get_close_matches(word.lower(), list(known), 1)), "")


def did_you_mean(what: str) -> str:
    """The end of a sentence about something wrong; empty if nothing comes to mind."""
    return f"; did you mean {what}?" if what else ""
