"""The result of a batch handler if some of its messages failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Failed:
    """The places of the failed messages in a batch; the other messages are acknowledged.

    Write ``Failed({3: ValueError("no price")})`` or ``Failed([3, 7], "no price")``.

    ``places``: places in the list, from 0 on, perhaps each with its error.
    ``reason``: the text of the dead letters if there is no error.
    """

    def __init__(
        self, places: Mapping[int, BaseException] | Iterable[int], reason: str = "it failed"
    ) -> None:
        if isinstance(places, Mapping):
            self.errors: dict[int, BaseException] = dict(places)
        else:
            self.errors = {place: PartError(reason) for place in places}


class PartError(Exception):
    """A message of a batch failed, and the handler gave no error for it."""
