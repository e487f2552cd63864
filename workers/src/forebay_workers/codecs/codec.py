"""A message as the fields of an entry, in one of two layouts.

    Order(item="tea", price=3.2)

    "fields"   @type Order   item tea   price 3.2          other programs read it at once
    "json"     @type Order   data {"item":"tea","price":3.2}

``@type`` comes first if the message was an object, so that several types can share a stream; a dict
has none.  Nothing else is added, and an attribute that is None has no field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from forebay_workers.codecs.families import Family, dump, dump_json, family_of
from forebay_workers.codecs.kinds import to_bytes
from forebay_workers.errors import MisfitError
from forebay_workers.message import HEADER, TYPE, Message
from forebay_workers.options import Layout

#: The one field of a message in the layout "json".
DATA = b"data"
Decode = Callable[[Message], Any]


def tag_of(kind: type) -> bytes:
    """The name of a type on a stream: its own, or the value of ``__message_type__``."""
    return str(getattr(kind, "__message_type__", kind.__name__)).encode()


def encode(value: Any, layout: Layout) -> list[bytes]:
    """Names and values of the fields of a message."""
    fields = [] if isinstance(value, Mapping) else [TYPE, tag_of(type(value))]
    if layout == "json":
        return [*fields, DATA, dump_json(value)]
    for name, plain in dump(value).items():
        if plain is not None:
            fields += (name.encode(), to_bytes(plain))
    if not fields:
        raise MisfitError("An empty message cannot be an entry of a stream. Give it a field.")
    return fields


def decoder(kind: Any, layout: Layout) -> Decode:
    """A function from a message to the argument that a handler wants."""
    if kind is Message:
        return _itself
    if kind is dict or kind is Any:
        return _json_dict if layout == "json" else _Texts()
    family = family_of(kind)
    if layout == "json":
        return lambda message: family.load_json(_data(message))
    return _from_fields(family)


def _itself(message: Message) -> Message:
    return message


class _Texts:
    """All fields that are not headers, as text.

    Consecutive messages mostly have the same field names: these are decoded once.
    """

    def __init__(self) -> None:
        self._names: list[bytes] = []
        self._texts: list[str] = []
        self._has_headers = False

    def __call__(self, message: Message) -> dict[str, str]:
        raw = message.raw
        names = raw[::2]
        try:
            if names != self._names:
                self._learn(names)
            if self._has_headers:
                values = zip(names, self._texts, raw[1::2], strict=True)
                return {
                    text: value.decode() for name, text, value in values if not _is_header(name)
                }
            return dict(zip(self._texts, map(bytes.decode, raw[1::2]), strict=True))
        except UnicodeDecodeError as error:
            raise MisfitError(f"a field is not text: {error}") from None

    def _learn(self, names: list[bytes]) -> None:
        self._texts = ["" if _is_header(name) else name.decode() for name in names]
        self._names = names
        self._has_headers = any(map(_is_header, names))


def _is_header(name: bytes) -> bool:
    return name[:1] == HEADER


def _json_dict(message: Message) -> Any:
    try:
        return msgspec.json.decode(_data(message))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MisfitError(f"not JSON: {error}") from None


def key_of(name: str, layout: Layout) -> Callable[[Message], bytes | None]:
    """A function from a message to the value of one attribute; None if it is missing."""
    field = name.encode()
    if layout == "fields":
        return lambda message: message.header(field)

    def member(message: Message) -> bytes | None:
        try:
            value = msgspec.json.decode(_data(message)).get(name)
        except (MisfitError, msgspec.DecodeError, UnicodeDecodeError, AttributeError):
            return None  # it becomes a dead letter when it runs
        return None if value is None else msgspec.json.encode(value)

    return member


def _data(message: Message) -> bytes:
    data = message.header(DATA)
    if data is None:
        raise MisfitError(f"The message has no field {DATA.decode()!r}")
    return data


def _from_fields(family: Family) -> Decode:
    """One attribute a field.  Fields that are not attributes are ignored."""
    kinds = {attribute.name.encode(): attribute for attribute in family.attributes}
    absent = {a.name: None for a in family.attributes if a.none_if_absent}

    def decode(message: Message) -> Any:
        values: dict[str, Any] = dict(absent)
        raw = message.raw
        for at in range(0, len(raw), 2):
            found = kinds.get(raw[at])
            if found is not None:
                values[found.name] = _value(found.kind, raw[at + 1], found.name)
        return family.load(values)

    return decode


def _value(kind: str, data: bytes, name: str) -> Any:
    try:
        if kind == "text":
            return data.decode()
        return data if kind == "raw" else msgspec.json.decode(data)
    except (UnicodeDecodeError, msgspec.DecodeError) as error:
        raise MisfitError(f"{name}: {error}") from None
