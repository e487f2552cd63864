"""Dataclasses that can be filled from a file, with errors that a person understands.

A setting is a field of a dataclass with a reader and a line of documentation:

    trigger: str = setting(text, "when to run a batch", default="available now")

``build`` fills a dataclass from values of TOML or YAML.  Unknown names, missing ones and
values of the wrong type become one sentence that says where and what to do; the list of
settings in the documentation comes from the same fields.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from forebay_spark import durations
from forebay_spark.errors import OptionError

T = TypeVar("T")
#: Converts a value of TOML or YAML, with its place in the file, for the job.
Reader = Callable[[object, str], T]


def setting(read: Reader[T], doc: str, **default: Any) -> T:
    """A field of a dataclass that a file may set."""
    field: T = dataclasses.field(metadata={"read": read, "doc": doc}, **default)
    return field


def build(kind: type[T], given: object, where: str) -> T:
    """Fill a dataclass; OptionError names the wrong setting."""
    if not isinstance(given, Mapping):
        raise OptionError(f"{where} is not a table of settings. Write it as [{where}].")
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in given:
        if name not in fields:
            raise OptionError(_unknown(str(name), list(fields), where))
    values = {
        name: fields[name].metadata["read"](value, f"{where}.{name}")
        for name, value in given.items()
    }
    for name, f in fields.items():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and name not in values:
            raise OptionError(f"{where} lacks {name}, which is {f.metadata['doc']}. Add it.")
    return kind(**values)


def _unknown(name: str, known: list[str], where: str) -> str:
    close = difflib.get_close_matches(name.lower(), known, 1, 0.6)
    hint = f"Did you mean {close[0]}?" if close else f"There are: {', '.join(known)}."
    return f"{where} has no setting {name}. {hint}"


def wrong(where: str, value: object, wanted: str) -> OptionError:
    """The error for a value of the wrong type."""
    return OptionError(f"{where} cannot be {value!r}. Give it {wanted}.")


# Readers


def text(value: object, where: str) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value:
        raise wrong(where, value, "text")
    return value


def boolean(value: object, where: str) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise wrong(where, value, "true or false")
    return value


def whole(value: object, where: str) -> int:
    """A whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise wrong(where, value, "a whole number from 1 on")
    return value


def texts(value: object, where: str) -> tuple[str, ...]:
    """A list of texts; a single one needs no list."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(i, str) and i for i in items):
        raise wrong(where, value, "a list of texts")
    return tuple(items)


def mapping(value: object, where: str) -> dict[str, str]:
    """A table from names to texts; numbers and booleans are taken as text."""
    if not isinstance(value, Mapping):
        raise wrong(where, value, "a table from names to values")
    return {str(k): str(v).lower() if isinstance(v, bool) else str(v) for k, v in value.items()}


def duration(value: object, where: str) -> int:
    """Milliseconds, from a text such as 10 seconds, 1.5h or 250ms."""
    try:
        return durations.read_ms(str(value) if isinstance(value, str) else "")
    except ValueError as error:
        raise wrong(where, value, str(error)) from None


def one_of(*words: str) -> Reader[str]:
    """One of a few words."""

    def read(value: object, where: str) -> str:
        if value not in words:
            raise wrong(where, value, " or ".join(words))
        return str(value)

    return read


def nested(kind: type[T]) -> Reader[T]:
    """A table that fills another dataclass."""
    return lambda value, where: value if isinstance(value, kind) else build(kind, value, where)


def each(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """A list of values of another reader; a single one needs no list."""

    def read_all(value: object, where: str) -> tuple[T, ...]:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(read(item, f"{where}[{at}]") for at, item in enumerate(items))

    return read_all
