"""How one attribute of a type becomes the bytes of one field.

text    numbers, times, enums, UUIDs: as people write them
raw     bytes as they are
json    lists, dicts, nested types: JSON in the field
"""

from __future__ import annotations

import enum
import types
import typing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, NamedTuple
from uuid import UUID

import msgspec

Kind = Literal["text", "raw", "json"]
SCALARS = (str, int, float, bool, Decimal, datetime, date, time, timedelta, UUID)


class Attribute(NamedTuple):
    """One attribute of a type."""

    name: str
    kind: Kind
    #: It may be None and has no default: a missing field means None.
    none_if_absent: bool


def kind_of(annotation: Any) -> Kind:
    """How values of this type are written; a union is JSON unless all its types are scalars."""
    if typing.get_origin(annotation) is typing.Annotated:
        return kind_of(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        parts = [kind_of(part) for part in typing.get_args(annotation) if part is not type(None)]
        return parts[0] if len(set(parts)) == 1 else "json"
    if annotation is bytes:
        return "raw"
    if annotation is Any or typing.get_origin(annotation) is Literal:
        return "text"
    if isinstance(annotation, type) and issubclass(annotation, (*SCALARS, enum.Enum)):
        return "text"
    return "json"


def may_be_none(annotation: Any) -> bool:
    """Whether None is among the values of a type."""
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return is_union and type(None) in typing.get_args(annotation)


def attribute(name: str, annotation: Any, *, has_default: bool) -> Attribute:
    """The facts about one attribute."""
    return Attribute(name, kind_of(annotation), may_be_none(annotation) and not has_default)


def to_bytes(value: Any) -> bytes:
    """A plain value, from msgspec or pydantic, as the bytes of a field."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, (int, float)):
        return str(value).encode()
    return msgspec.json.encode(value)
