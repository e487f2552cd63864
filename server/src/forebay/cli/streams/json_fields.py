"""Lines of JSON as fields of an entry, byte for byte.

    {"item": "tea", "price": 3.2, "tags": ["a"]}          a field for each member
    {"id": "5-1", "fields": {...} or [[name, value]]}     an entry of ``range --json``

A value that is not text becomes its JSON; {"base64": "..."} becomes its bytes.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from forebay.errors import ForebayError


class BadLineError(ForebayError):
    """A line that is not an entry; the text says why."""


def parsed_line(line: bytes | str) -> dict[str, Any]:
    """The object that a line holds."""
    try:
        found = json.loads(line, object_pairs_hook=unrepeated)
    except ValueError as error:
        raise BadLineError(f"no JSON ({error})") from None
    if not isinstance(found, dict):
        raise BadLineError('no object; write one as {"item": "tea"}')
    return found


def unrepeated(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; refuse a repeated name, which would be lost silently."""
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("a name occurs twice in an object; write fields as a list of pairs")
    return found


def fields_of_line(line: bytes | str) -> list[bytes]:
    """Names and values in turn."""
    found = parsed_line(line)
    return fields_of(found["fields"] if is_entry(found) else found)


def is_entry(found: dict[str, Any]) -> bool:
    """Whether an object is an entry with its ID, and not just fields."""
    return isinstance(found.get("id"), str) and isinstance(found.get("fields"), dict | list)


def fields_of(members: Any) -> list[bytes]:
    """Names and values in turn, from an object or a list of pairs."""
    listed = list(members.items()) if isinstance(members, dict) else members
    if not isinstance(listed, list) or not listed:
        raise BadLineError("no fields, and an entry needs one")
    words: list[bytes] = []
    for pair in listed:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise BadLineError("fields that are neither an object nor a list of pairs")
        words += [bytes_of(pair[0]), bytes_of(pair[1])]
    return words


def bytes_of(value: Any) -> bytes:
    """A name or a value."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict) and list(value) == ["base64"]:
        try:
            return base64.b64decode(value["base64"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise BadLineError("a base64 that is not valid") from None
    return json.dumps(value, ensure_ascii=False).encode()
