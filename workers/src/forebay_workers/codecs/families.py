"""The families of types that a message may have, each with the same two operations.

    load(values)   attributes as text, bytes and parsed JSON  ->  an object
    dump(object)   an object  ->  attributes as plain values
    load_json, dump_json: the same for a message that is one JSON text

msgspec handles dataclasses, its own structs and typed dicts.  pydantic is imported only
if the user has imported it before.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from forebay_workers.codecs.kinds import Attribute, attribute
from forebay_workers.errors import ConfigError, MisfitError


class Family(Protocol):
    """The operations on a type."""

    @property
    def attributes(self) -> Sequence[Attribute]: ...
    def load(self, values: dict[str, Any]) -> Any: ...
    def load_json(self, text: bytes) -> Any: ...


class Structs:
    """Dataclasses, structs and typed dicts, through msgspec."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.attributes = [
            attribute(name, hint, has_default=_has_default(kind, name))
            for name, hint in typing.get_type_hints(kind, include_extras=True).items()
        ]
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)

    def load(self, values: dict[str, Any]) -> Any:
        """An object from its attributes; numbers and times are text."""
        try:
            return msgspec.convert(values, self._kind, strict=False)
        except msgspec.ValidationError as error:
            raise MisfitError(f"{self._kind.__name__}: {error}") from None

    def load_json(self, text: bytes) -> Any:
        """An object from a JSON text."""
        try:
            return self._decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MisfitError(f"{self._kind.__name__}: {error}") from None


def _has_default(kind: type, name: str) -> bool:
    if dataclasses.is_dataclass(kind):
        (found,) = [field for field in dataclasses.fields(kind) if field.name == name]
        missing = dataclasses.MISSING
        return found.default is not missing or found.default_factory is not missing
    if issubclass(kind, msgspec.Struct):
        (info,) = [field for field in msgspec.structs.fields(kind) if field.name == name]
        return not info.required
    return name not in getattr(kind, "__required_keys__", ())


class Models:
    """Models of pydantic."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self.attributes = [
            attribute(name, info.annotation, has_default=not info.is_required())
            for name, info in kind.model_fields.items()
        ]

    def load(self, values: dict[str, Any]) -> Any:
        """An object from its attributes, as pydantic reads a form."""
        return self._checked(self._kind.model_validate, values)

    def load_json(self, text: bytes) -> Any:
        """An object from a JSON text."""
        return self._checked(self._kind.model_validate_json, text)

    def _checked(self, load: Any, source: Any) -> Any:
        try:
            return load(source)
        except ValueError as error:  # pydantic's ValidationError is one
            raise MisfitError(f"{self._kind.__name__}: {_first_fault(error)}") from None


def _first_fault(error: Any) -> str:
    """The place and the text of pydantic's first error."""
    fault = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, fault["loc"]))
    return f"{place}: {fault['msg']}" if place else str(fault["msg"])


def is_model(kind: Any) -> bool:
    """Whether a type is a pydantic model; False without pydantic."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def is_struct(kind: Any) -> bool:
    """Whether msgspec can create objects of it."""
    if not isinstance(kind, type):
        return False
    if dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct):
        return True
    return typing.is_typeddict(kind)


def family_of(kind: Any) -> Family:
    """The family of a type; ConfigError says which types a handler may take."""
    if is_model(kind):
        return Models(kind)
    if is_struct(kind):
        return Structs(kind)
    raise ConfigError(
        f"A handler cannot get a {kind!r}. Use a dataclass, a model of pydantic, a struct of "
        "msgspec, dict or Message."
    )


def dump(value: Any) -> dict[str, Any]:
    """The attributes of an object as plain values; bytes stay bytes."""
    if is_model(type(value)):
        # The mode "python" keeps bytes; msgspec makes the rest plain.
        value = value.model_dump()
    plain = msgspec.to_builtins(value, builtin_types=(bytes,), str_keys=True)
    if not isinstance(plain, dict):
        raise ConfigError(
            f"A {type(value).__name__} cannot be published. Use a dict, a dataclass, a model of "
            "pydantic or a struct of msgspec."
        )
    return plain


def dump_json(value: Any) -> bytes:
    """An object as one JSON text."""
    if is_model(type(value)):
        text: str = value.model_dump_json()
        return text.encode()
    return msgspec.json.encode(value)
