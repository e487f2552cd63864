"""Arguments that several commands take, as types: cyclopts reads them from signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter, Token

from forebay.cli.moments import moment_of, place_of
from forebay.cli.remote.names import name_of


def plain_name(_: Any, tokens: Sequence[Token]) -> bytes:
    """A name, byte for byte."""
    return name_of(tokens[0].value)


def at_least_one(_: Any, tokens: Sequence[Token]) -> int:
    """How many of something."""
    text = tokens[0].value
    if not text.isdecimal() or not 0 < int(text) < 1 << 62:
        raise ValueError(f"{text!r} is no number from 1 on")
    return int(text)


def parameter(name: str, told: str) -> Parameter:
    """A name on the line, byte for byte."""
    shown = "NAME" if name.startswith("--") else None
    return _one_word(plain_name, name=name, metavar=shown, help=told)


def time_option(told: str) -> Parameter:
    """An option that takes a time."""
    return _one_word(moment_of, metavar="TIME", help=told)


def place_option(told: str, **more: Any) -> Parameter:
    """A time or an ID, on the line or as an option."""
    return _one_word(place_of, help=told, **more)


def _one_word(converter: Any, **more: Any) -> Parameter:
    return Parameter(converter=converter, accepts_keys=False, n_tokens=1, **more)


Stream = Annotated[bytes, parameter("STREAM", "a stream")]
Group = Annotated[bytes, parameter("GROUP", "a consumer group")]
Patterns = Annotated[
    str, Parameter(name="STREAM", help="streams, by name or by pattern such as 'orders:*'")
]
Json = Annotated[
    bool,
    Parameter(help='JSON, one object per line; bytes that are not UTF-8 become {"base64": "..."}'),
]
Count = Annotated[
    int | None,
    Parameter(alias="-n", metavar="N", converter=at_least_one, help="at most this many (all)"),
]
