"""Dead letters: read them, send them back to their streams, drop them.

    WATCH dead;  XRANGE dead id ...;  MULTI, XADD origin * fields, XDEL dead id, EXEC

A letter is sent back once, also if two users redrive at the same time: the second one finds that
the dead-letter stream has changed, and reads it again.  The message gets a new ID and its original
fields, byte for byte; its attempts start again from 1.  Each partition has its own dead-letter
stream, and its letters go back to that partition.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from heapq import heapify, heappop, heappush

from redis.exceptions import WatchError

from forebay_workers.clock import Clock
from forebay_workers.fetch.groups import id_key
from forebay_workers.publish.publisher import xadd
from forebay_workers.servers.connect import Serves
from forebay_workers.servers.link import Command, done
from forebay_workers.settle.letters import Letter, read

PAGE = 100
Chosen = Callable[[Letter], bool]


class DeadLetters:
    """The letters of one dead-letter stream, or of one for each partition."""

    def __init__(self, server: Serves, streams: Sequence[str], clock: Clock) -> None:
        self._server = server
        self.streams = streams
        self._clock = clock

    @property
    def where(self) -> str:
        """Its name, for messages to the user."""
        first, *others = self.streams
        return f"{first} and {len(others)} more" if others else first

    async def letters(self) -> AsyncIterator[Letter]:
        """All letters, oldest first; entries that are not letters are skipped."""
        async for _, letter in self._placed():
            yield letter

    async def _placed(self) -> AsyncIterator[tuple[str, Letter]]:
        """Letters, each with its dead-letter stream."""
        heads: list[tuple[tuple[int, int], str, Letter]] = []
        sources = {stream: self._of(stream) for stream in self.streams}
        for stream, source in sources.items():
            async for letter in source:
                heads.append((id_key(letter.id.encode()), stream, letter))
                break
        heapify(heads)
        while heads:
            _, stream, oldest = heappop(heads)
            yield stream, oldest
            async for letter in sources[stream]:
                heappush(heads, (id_key(letter.id.encode()), stream, letter))
                break

    async def _of(self, stream: str) -> AsyncIterator[Letter]:
        after = "-"
        while page := await self._server.shared.ask("XRANGE", stream, after, "+", "COUNT", PAGE):
            for entry_id, raw in page:
                letter = read(entry_id, raw)
                if letter is not None:
                    yield letter
            after = f"({page[-1][0].decode()}"

    async def find(self, entry_id: str) -> Letter | None:
        """One letter by its ID; None if there is none."""
        for stream in self.streams:
            page = await self._server.shared.ask("XRANGE", stream, entry_id, entry_id)
            if page:
                return read(*page[0])
        return None

    async def newest(self) -> Letter | None:
        """The newest letter; None if there is none."""
        found = []
        for stream in self.streams:
            page = await self._server.shared.ask("XREVRANGE", stream, "+", "-", "COUNT", 1)
            found += [letter for entry in page if (letter := read(*entry)) is not None]
        return max(found, key=lambda letter: id_key(letter.id.encode()), default=None)

    async def _wanted(self, chosen: Chosen, size: int) -> list[tuple[str, list[str]]]:
        """IDs of the chosen letters, in pages of one stream each."""
        by_stream: dict[str, list[str]] = {}
        async for stream, letter in self._placed():
            if chosen(letter):
                by_stream.setdefault(stream, []).append(letter.id)
        return [
            (stream, ids[at : at + size])
            for stream, ids in by_stream.items()
            for at in range(0, len(ids), size)
        ]

    async def redrive(self, chosen: Chosen, *, rate: float | None = None) -> int:
        """Send back the chosen letters; return how many.

        Letters that arrive meanwhile are not sent back.

        ``chosen``: a function from a letter to True or False.
        ``rate``: the most letters in a second.
        """
        size = PAGE if rate is None else max(1, min(PAGE, int(rate / 10)))
        count = 0
        for stream, ids in await self._wanted(chosen, size):
            count += await self._redrive_page(stream, ids)
            if rate is not None:
                await self._clock.sleep(len(ids) / rate)
        return count

    async def _redrive_page(self, stream: str, ids: Sequence[str]) -> int:
        while True:
            async with self._server.watching() as link:
                await link.ask("WATCH", stream)
                found = await link.ask_all([("XRANGE", stream, one, one) for one in ids])
                letters = [read(*page[0]) for page in found if isinstance(page, list) and page]
                commands = _moves(stream, [letter for letter in letters if letter is not None])
                if not commands:
                    await link.ask("UNWATCH")
                    return 0
                try:
                    done(await link.ask_all([("MULTI",), *commands, ("EXEC",)]))
                except WatchError:
                    continue
                return len(commands) // 2

    async def drop(self, chosen: Chosen) -> int:
        """Delete the chosen letters; return how many."""
        count = 0
        for stream, ids in await self._wanted(chosen, PAGE):
            count += await self._server.shared.ask("XDEL", stream, *ids)
        return count


def _moves(stream: str, letters: Sequence[Letter]) -> list[Command]:
    commands: list[Command] = []
    for letter in letters:
        commands += [xadd(letter.stream, letter.fields), ("XDEL", stream, letter.id)]
    return commands
