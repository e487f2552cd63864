"""Did you mean: the known word that is nearest to an unknown one.

The search runs only after an error, so that a normal start does not pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Letters that other servers and their clients use, and the directives that they mean here.
SHORT = {"p": "port", "s": "unixsocket", "a": "requirepass", "c": "include", "d": "daemonize"}


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like this one; empty if none is similar."""
    from difflib import get_close_matches  # only needed after an error

    return next(iter(get_close_matches(word.lower(), list(known), 1)), "")


def did_you_mean(what: str) -> str:
    """The end of a sentence about an error; empty if there is nothing to suggest."""
    return f"; did you mean {what}?" if what else ""
