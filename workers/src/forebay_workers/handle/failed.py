"""What a batch handler returns if not all of its messages went well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


class Failed:
    """The places in the batch of the messages that failed; the others are acknowledged.

    Write ``Failed({3: ValueError("no price")})`` or ``Failed([3, 7], "no price")``.

    ``places``: places in the list, from 0 on, with an error each if there is one.
    ``reason``: what the dead letters say if there is none.
    """

    def __init__(
        self, places: Mapping[int, BaseException] | Iterable[int], reason: str = "it failed"
    ) -> None:
        if isinstance(places, Mapping):
            self.errors: dict[int, BaseException] = dict(places)
        else:
            self.errors = {place: PartError(reason) for place in places}


class PartError(Exception):
    """A part of a batch failed, and the handler did not say how."""
