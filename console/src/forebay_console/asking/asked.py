"""One question of a viewer, as views and actions get it.

    asked.stream            the name in the address
    asked.word("sort")      a word after the ?
    asked.server            a connection with the rights of the viewer, for this question
    asked.board             what the poller knows
    asked.sights(names)     how much of these streams the viewer may see

Invalid words raise BadRequestError with a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.cli.remote.server import Server
from forebay.errors import ForebayError
from forebay_console.asking.permits import REMEMBERED_S, Permits, Sight
from forebay_console.servers.shown import name_of
from forebay_console.watch.board import Board
from forebay_console.watch.poller import Poller


class BadRequestError(ForebayError):
    """The request cannot be understood; the text says why."""


class NotThereError(ForebayError):
    """The requested thing does not exist; the text says so."""


@dataclass(frozen=True)
class Asked:
    """A question."""

    server: Server
    board: Board
    poller: Poller
    permits: Permits
    path: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def stream(self) -> bytes:
        """The stream that it is about."""
        return name_of(self.path["stream"])

    @property
    def group(self) -> bytes:
        """The group that it is about."""
        return name_of(self.path["group"])

    def word(self, name: str, otherwise: str = "") -> str:
        """A word of the query."""
        return self.query.get(name, otherwise)

    def one_of(self, name: str, words: tuple[str, ...]) -> str:
        """A word that must be one of these; the first if it is missing."""
        word = self.query.get(name) or words[0]
        if word not in words:
            raise BadRequestError(f"{name} must be one of {', '.join(words)}, not {word[:50]!r}")
        return word

    def number(self, name: str, otherwise: int, most: int) -> int:
        """A whole number from 0 on."""
        text = self.query.get(name, "")
        if not text:
            return otherwise
        if not (text.isascii() and text.isdecimal()) or len(text) > 16:
            raise BadRequestError(f"{name} must be a whole number, not {text[:50]!r}")
        return min(int(text), most)

    def page(self, otherwise: int, most: int) -> int:
        """The number of items asked for: at least one."""
        return max(1, self.number("count", otherwise, most))

    def given(self, name: str, kind: type[Any]) -> Any:
        """A value of the body; it must be there, and of this type."""
        value = self.body.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BadRequestError(f"{name} is missing, or is not {KINDS.get(kind, kind.__name__)}")
        return value

    def sights(
        self, names: Iterable[bytes], remembered_s: float = REMEMBERED_S
    ) -> dict[bytes, Sight]:
        """How much of these streams this viewer may see."""
        return self.permits.of(self.server, names, remembered_s)


KINDS = {str: "text", int: "a number", list: "a list", dict: "an object", bool: "true or false"}
