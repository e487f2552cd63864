"""A raw reply as a tree that keeps every byte and type, so that parts can be masked.

    *2\\r\\n:1\\r\\n$-1\\r\\n   ->   Reply("*", [Reply(":", b"1"), Reply("$", None)])

``flat`` gives the bytes back, so two trees are equal exactly when the replies are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

CRLF = b"\r\n"


@dataclass
class Reply:
    """One reply: its type byte and its text, its items, or nothing (null)."""

    kind: str
    value: bytes | list[Reply] | None

    @property
    def items(self) -> list[Reply]:
        """The items of an aggregate; for a map, keys and values in turn."""
        return self.value if isinstance(self.value, list) else []

    @property
    def text(self) -> bytes:
        """The text of a scalar."""
        return self.value if isinstance(self.value, bytes) else b""

    def fields(self) -> Iterator[tuple[bytes, int]]:
        """For a flat array or map of fields: each name, and the index of its value."""
        for i in range(0, len(self.items) - 1, 2):
            yield self.items[i].text, i + 1

    def field(self, name: bytes) -> Reply | None:
        """The value of a field."""
        return next((self.items[i] for key, i in self.fields() if key == name), None)

    def drop(self, *names: bytes) -> None:
        """Remove fields."""
        kept = [
            item
            for key, i in self.fields()
            if key not in names
            for item in (self.items[i - 1], self.items[i])
        ]
        self.value = kept

    def rename(self, old: bytes, new: bytes) -> None:
        """Give a field another name."""
        for key, i in self.fields():
            if key == old:
                self.items[i - 1].value = new


def parse(raw: bytes) -> Reply:
    """The tree of one whole reply."""
    reply, end = _parse(raw, 0)
    assert end == len(raw)
    return reply


def _parse(raw: bytes, at: int) -> tuple[Reply, int]:
    end = raw.index(CRLF, at)
    kind, text, at = chr(raw[at]), raw[at + 1 : end], end + 2
    if kind in "$=!":
        size = int(text)
        return (Reply(kind, None), at) if size < 0 else (
            Reply(kind, raw[at : at + size]), at + size + 2
        )  # fmt: skip
    if kind not in "*%~>":
        return Reply(kind, text), at
    count = int(text)
    if count < 0:
        return Reply(kind, None), at
    items = []
    for _ in range(2 * count if kind == "%" else count):
        item, at = _parse(raw, at)
        items.append(item)
    return Reply(kind, items), at


def show(raw: bytes, limit: int = 600) -> str:
    """A raw reply on one line, for people."""
    text = raw.decode("latin-1").replace("\r\n", " ")
    return text if len(text) <= limit else f"{text[:limit]}... ({len(raw)} bytes)"
