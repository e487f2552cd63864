"""Errors of a line in one sentence, with a suggestion for a misspelled word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from cyclopts import (
    Argument,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)
from cyclopts.exceptions import UnknownCommandError

from forebay.errors import ForebayError
from forebay.server.config.nearest import did_you_mean, nearest

WANTED = {int: "a whole number", float: "a number", bool: "yes or no"}


class LineError(ForebayError):
    """Words that are right alone and wrong together; a command raises it for exit code 2."""


def sentence(error: CycloptsError) -> str:
    """The sentence; the library's own words are only the last resort."""
    if isinstance(error, UnknownOptionError):
        word = error.token.keyword or error.token.value
        return _unknown_option(word, [n for a in error.argument_collection for n in a.names])
    if isinstance(error, UnknownCommandError) and error.unused_tokens and error.app:
        word = error.unused_tokens[0]
        return f"no command '{word}'{did_you_mean(nearest(word, error.app))}"
    if isinstance(error, MissingArgumentError) and error.argument:
        return _missing(error, error.argument)
    if isinstance(error, CoercionError) and error.argument:
        return f"argument {_name(error.argument)}: {_reason(error)}"
    if isinstance(error, ValidationError):
        return error.exception_message
    if isinstance(error, UnusedCliTokensError):
        return f"unrecognized arguments: {' '.join(error.unused_tokens or ())}"
    return " ".join(str(error).split())


def _name(argument: Argument) -> str:
    return argument.names[0] if argument.names else argument.name


def _unknown_option(word: str, known: Iterable[str]) -> str:
    return f"no option {word}{did_you_mean(nearest(word, known))}"


def _missing(error: MissingArgumentError, argument: Argument) -> str:
    """Something is missing: an option, its value, or a misspelled option."""
    name = _name(argument)
    if error.keyword or argument.tokens:
        return f"argument {error.keyword or name}: a value is missing"
    for word in error.unused_tokens or ():
        if word.startswith("--") and nearest(word, [name]):
            return _unknown_option(word, [name])
    return f"the following arguments are required: {name}"


def _reason(error: CoercionError) -> str:
    if error.msg is not None:
        return str(error.msg)
    value = error.token.value if error.token else ""
    choices = [word for word in get_args(error.target_type) if isinstance(word, str)]
    if choices:
        listed = ", ".join(map(repr, choices))
        return f"invalid choice: {value!r} (choose from {listed}){_meant(value, choices)}"
    return f"{value!r} is not {WANTED.get(_plain(error.target_type), 'what is wanted here')}"


def _meant(value: str, choices: Iterable[str]) -> str:
    return did_you_mean(nearest(value, choices))


def _plain(kind: Any) -> Any:
    """The type of an option that may be left out."""
    return next((part for part in get_args(kind) if part is not type(None)), kind)
