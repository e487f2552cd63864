"""Server-sent events: an answer that is sent again whenever it may have changed.

    event: state    data: {...}                         the same JSON as the GET of that address
    event: change   data: [[["streams",3,"lag"],0],...]  places in it, and what is there now
    : still here                                        each 15 s, so that proxies keep the line

The board tells how often it changed; nobody asks the server because somebody watches.
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
    """Who looks may look no longer; the browser asks again, and is told so."""


class Bell:
    """Rings for all who wait, from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._next: asyncio.Future[None] | None = None

    def open(self) -> None:
        """Called once, in the loop of those who wait."""
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.create_future()

    def ring(self) -> None:
        """Wake them."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(None)
        if self._loop is not None:
            self._next = self._loop.create_future()

    def next(self) -> asyncio.Future[None]:
        """What is done when it rings next; taken before a look, so that no ring is missed."""
        if self._next is None:
            raise RuntimeError("the bell is not open")
        return self._next


def event(data: Any, kind: str = "state") -> str:
    """One event."""
    return f"event: {kind}\ndata: {json.dumps(data, separators=COMPACT)}\n\n"


def changes(before: Any, after: Any, *way: str | int) -> Iterator[tuple[list[str | int], Any]]:
    """What must be put where to make the one of the other."""
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
    """Whether it is a list of objects, which change one by one."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def told(before: Any, after: Any) -> str:
    """What to say to somebody who knows ``before``; nothing if nothing has changed."""
    found = list(changes(before, after))
    if not found:
        return ""
    return event(after) if [] in (way for way, _ in found) else event(found, "change")


def streamed(events: AsyncIterator[str]) -> StreamingResponse:
    """An answer that goes on."""
    return StreamingResponse(events, media_type="text/event-stream")


def looked(look: Callable[[], Any], last: Any) -> tuple[Any, str]:
    """What is there now, and what to say to somebody who knows ``last``."""
    found = look()
    return found, told(last, found)


async def followed(bell: Bell, look: Callable[[], Any]) -> AsyncIterator[str]:
    """What ``look`` says, now and whenever it says something else."""
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
    """What is taken from a queue, until the browser goes away."""
    try:
        yield ALIVE
        while True:
            try:
                yield event(await asyncio.wait_for(take(), ALIVE_S))
            except TimeoutError:
                yield ALIVE
    finally:
        leave()
