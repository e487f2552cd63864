"""Objects to fields and back, in both layouts and with all kinds of classes."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal, TypedDict
from uuid import UUID

import msgspec
import pydantic
import pytest

from forebay_workers import ConfigError, Message, MisfitError
from forebay_workers.codecs.codec import decoder, encode


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Line:
    item: str
    price: Decimal


@dataclass
class Everything:
    text: str
    number: int
    real: float
    flag: bool
    when: datetime
    name: UUID
    colour: Colour
    size: Literal["s", "m"]
    raw: bytes
    lines: list[Line]
    table: dict[str, int]
    maybe: str | None
    defaulted: int = 7
    several: list[str] = field(default_factory=list)


class Struct(msgspec.Struct):
    n: int
    tags: list[str]
    maybe: int | None = None


class Model(pydantic.BaseModel):
    n: int
    when: datetime
    line: dict[str, int]
    raw: bytes
    maybe: str | None


class Typed(TypedDict):
    n: int


NOW = datetime(2026, 11, 17, 9, 30, tzinfo=UTC)
ALL = Everything(
    *("é\nx", -5, 0.1, True, NOW, UUID(int=7), Colour.RED, "m", b"\xff\x00"),
    *([Line("tea", Decimal("3.20"))], {"a": 1}, None),
)


def back(value: Any, layout: Any, kind: Any = None) -> Any:
    message = Message("s", b"1-0", encode(value, layout))
    return decoder(kind or type(value), layout)(message)


@pytest.mark.parametrize(
    "value", [ALL, Struct(1, ["a", "b"])], ids=lambda value: type(value).__name__
)
def test_an_object_comes_back_as_it_was_from_fields(value: Any) -> None:
    assert back(value, "fields") == value


@pytest.mark.parametrize(
    "value", [ALL, Struct(1, ["a", "b"])], ids=lambda value: type(value).__name__
)
def test_an_object_comes_back_as_it_was_from_json(value: Any) -> None:
    assert back(value, "json") == value


def test_a_model_of_pydantic_comes_back_from_both() -> None:
    value = Model(n=1, when=NOW, line={"a": 1}, raw=b"abc", maybe=None)
    assert back(value, "fields") == value
    assert back(value, "json") == value


def test_fields_are_what_other_programs_would_write() -> None:
    raw = encode(Struct(1, ["a"], 5), "fields")
    assert raw == [b"@type", b"Struct", b"n", b"1", b"tags", b'["a"]', b"maybe", b"5"]
    assert encode(Struct(1, ["a"]), "json") == [
        *(b"@type", b"Struct", b"data", b'{"n":1,"tags":["a"],"maybe":null}')
    ]


def test_a_dict_has_no_type_and_its_values_become_text() -> None:
    raw = encode({"n": 1, "ok": True, "none": None, "deep": {"a": [1]}}, "fields")
    assert raw == [b"n", b"1", b"ok", b"true", b"deep", b'{"a":[1]}']
    assert back({"n": 1}, "fields", dict) == {"n": "1"}
    assert back({"n": 1}, "json", dict) == {"n": 1}


def test_a_typed_dict_is_read_from_plain_fields() -> None:
    assert back({"n": "5"}, "fields", Typed) == {"n": 5}


def test_fields_of_others_are_passed_over() -> None:
    message = Message("s", b"1-0", [b"n", b"1", b"tags", b"[]", b"trace", b"x", b"\xff", b"\xff"])
    assert decoder(Struct, "fields")(message) == Struct(1, [])


@pytest.mark.parametrize(
    ("raw", "kind", "reason"),
    [
        ([b"n", b"x", b"tags", b"[]"], Struct, "Struct: Expected `int`, got `str` - at `$.n`"),
        ([b"n", b"1"], Struct, "Struct: Object missing required field `tags`"),
        ([b"n", b"1", b"tags", b"["], Struct, "tags: Input data was truncated"),
        ([b"n", b"\xff", b"tags", b"[]"], Struct, "n: 'utf-8' codec can't decode"),
        ([b"n", b"x"], Model, "Model: n: Input should be a valid integer"),
        ([b"n", b"\xff"], dict, "a field is not text"),
    ],
)
def test_a_message_that_does_not_fit_says_why(raw: list[bytes], kind: Any, reason: str) -> None:
    with pytest.raises(MisfitError) as caught:
        decoder(kind, "fields")(Message("s", b"1-0", raw))
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("raw", "reason"), [([b"n", b"1"], "no field 'data'"), ([b"data", b"{"], "truncated|EOF")]
)
@pytest.mark.parametrize("kind", [Struct, Model, dict])
def test_so_does_one_without_its_json(kind: Any, raw: list[bytes], reason: str) -> None:
    with pytest.raises(MisfitError, match=reason):
        decoder(kind, "json")(Message("s", b"1-0", raw))


def test_what_cannot_be_a_message_is_refused_with_a_sentence() -> None:
    with pytest.raises(ConfigError, match="A handler cannot get a <class 'int'>"):
        decoder(int, "fields")
    with pytest.raises(ConfigError, match="A list cannot be published"):
        encode([1], "fields")
    with pytest.raises(MisfitError, match="An empty message"):
        encode({}, "fields")
