"""Server-sent events: an answer that is sent again whenever it may have changed.

    event: state    data: {...}                         the same JSON as the GET of that address
    event: change   data: [[["streams",3,"lag"],0],...]  places in it, and what is there now
    : still here                                        each 15 s, so that proxies keep it open

The board counts its changes; a viewer causes no further questions to the server.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

ALIVE_S = 15.0
COMPACT = (",", ":")
ALIVE = ": still here\n\n"


class OverError(Exception):
    """The viewer may no longer see this; the browser asks again, and gets the refusal."""


class Bell:
    """Wakes all waiting tasks, from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: asyncio.Future[None] | None = None

    def open(self) -> None:
        """Call once, in the loop of the waiting tasks."""
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.create_future()

    def ring(self) -> None:
        """Wake all waiting tasks."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(None)
        if self._loop is not None:
            self._next = self._loop.create_future()

    def next(self) -> asyncio.Future[None]:
        """A future for the next ring; take it before a look, so that no ring is missed."""
        if self._next is None:
            raise RuntimeError("the bell is not open")
        return self._next


def event(data: Any, kind: str = "state") -> str:
    """One event."""
    return f"event: {kind}\ndata: {json.dumps(data, separators=COMPACT)}\n\n"


def changes(before: Any, after: Any, *way: str | int) -> Iterator[tuple[list[str | int], Any]]:
    """The places that differ, each with its new value."""
    if before is after:
        return
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        for name, value in after.items():
            yield from changes(before[name], value, *way, name)
    elif are_rows(before) and are_rows(after) and len(before) == len(after):
        for at, value in enumerate(after):
            yield from changes(before[at], value, *way, at)
    elif before != after:
        yield [*way], after


def are_rows(value: Any) -> bool:
    """Whether it is a list of objects; these are compared one by one."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def told(before: Any, after: Any) -> str:
    """The event for a viewer that has ``before``; empty if nothing has changed."""
    found = list(changes(before, after))
    if not found:
        return ""
    return event(after) if [] in (way for way, _ in found) else event(found, "change")


def streamed(events: AsyncIterator[str]) -> StreamingResponse:
    """An answer that stays open."""
    return StreamingResponse(events, media_type="text/event-stream")


def looked(look: Callable[[], Any], last: Any) -> tuple[Any, str]:
    """The current state, and the event for a viewer that has ``last``."""
    found = look()
    return found, told(last, found)


async def followed(bell: Bell, look: Callable[[], Any]) -> AsyncIterator[str]:
    """The result of ``look``, now and whenever it changes."""
    last = None
    while True:
        rings = bell.next()
        try:
            last, text = await run_in_threadpool(looked, look, last)
        except OverError:
            return
        if text:
            yield text
        try:
            await asyncio.wait_for(asyncio.shield(rings), ALIVE_S)
        except TimeoutError:
            yield ALIVE


async def taken(take: Callable[[], Any], leave: Callable[[], None]) -> AsyncIterator[str]:
    """The items of a queue, until the browser disconnects."""
    try:
        yield ALIVE
        while True:
            try:
                yield event(await asyncio.wait_for(take(), ALIVE_S))
            except TimeoutError:
                yield ALIVE
    finally:
        leave()
