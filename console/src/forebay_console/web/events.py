"""Server-sent events: an answer that is sent again whenever it may have changed.

    event: state   data: {...}      the same JSON as the GET of that address
    : still here                    each 15 s, so that proxies keep the line

The board tells how often it changed; nobody asks the server because somebody watches.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

ALIVE_S = 15.0
ALIVE = ": still here\n\n"


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

    async def wait(self) -> None:
        """Until it rings next."""
        if self._next is not None:
            await asyncio.shield(self._next)


def event(data: Any) -> str:
    """One event."""
    return f"event: state\ndata: {json.dumps(data)}\n\n"


def streamed(events: AsyncIterator[str]) -> StreamingResponse:
    """An answer that goes on."""
    return StreamingResponse(events, media_type="text/event-stream")


async def followed(bell: Bell, look: Callable[[], Any]) -> AsyncIterator[str]:
    """What ``look`` says, now and whenever it says something else."""
    last = ""
    while True:
        text = event(await run_in_threadpool(look))
        if text != last:
            last = text
            yield text
        try:
            await asyncio.wait_for(bell.wait(), ALIVE_S)
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
