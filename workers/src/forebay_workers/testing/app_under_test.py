"""``TestApp``: an app under test; workers, server and clock are all inside the test.

    with TestApp(app, workers=2) as t:
        t.publish("orders", Order("ann", 5))        the handler runs as far as it can without time
        t.kill("worker-1")                          like kill -9
        t.advance(60)                               a minute passes at once
        assert t.handled("orders") == [Order("ann", 5)]
        t.assert_done()

No server, no socket and no sleep.  The server is Forebay's engine (server.py), the test sets the
time (loop.py), and the workers are the code of production, each like a process that can be killed,
frozen and stopped (process.py).

Every method finishes before it returns, with all its effects that need no time.  So ``with`` is
enough, and tests need no plugin.  ``async with`` works too, and ``await`` before ``publish``,
``advance`` and the like is allowed and changes nothing.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, TypeVar

from redis.exceptions import ResponseError

from forebay_workers.app import App
from forebay_workers.errors import ConfigError
from forebay_workers.partitioned import Partitioned
from forebay_workers.publish.later import hour_key, hours_key, second_key
from forebay_workers.settle.letters import Letter, dead_streams, read
from forebay_workers.settle.retention import pairs
from forebay_workers.testing.clock import VirtualClock
from forebay_workers.testing.loop import VirtualLoop
from forebay_workers.testing.process import Process
from forebay_workers.testing.records import Call, Entry, Pending, Recorder
from forebay_workers.testing.report import letter_line, listed, stream_lines, worker_lines
from forebay_workers.testing.server import Doors, Double

T = TypeVar("T")
Seconds = float | timedelta
#: The longest wait, in virtual time.
AN_HOUR_S = 3600.0
ALL = 1_000_000


class Done:
    """The result of a finished action; ``await`` is allowed before it."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()

    def __repr__(self) -> str:
        return "done"


class EntryId(str):
    """The ID of a published entry; ``await`` is allowed before it."""

    def __await__(self) -> Generator[None, None, str]:
        yield from ()
        return str(self)


def seconds(time_span: Seconds) -> float:
    """A duration as a number of seconds."""
    return time_span.total_seconds() if isinstance(time_span, timedelta) else float(time_span)


class TestApp:
    """An app, its workers, their server and their time."""

    #: Otherwise pytest would collect this class because of its name.
    __test__ = False

    def __init__(
        self,
        app: App,
        *,
        workers: int = 1,
        like: str = "forebay",
        start: datetime | None = None,
        jitter: float = 0.0,
        patience: float = 5.0,
    ) -> None:
        """Nothing runs before ``with``.

        ``workers``: the number of workers at the start.
        ``like``: the server whose commands exist, as "redis 6.2"; by default all.
        ``start``: the time at which the test begins; by default now.
        ``jitter``: from 0 to 1, the fixed value for the random part of pauses.
        ``patience``: seconds of real time for work of a handler in a thread, or over its own
        socket, before the virtual clock continues without it.
        """
        if start is not None and start.tzinfo is None:
            raise ConfigError("start needs a time zone, as in datetime(2026, 11, 17, tzinfo=UTC).")
        start_ms = time.time_ns() // 1_000_000 if start is None else int(start.timestamp() * 1000)
        self.app = app
        self.workers: dict[str, Process] = {}
        self._first = workers
        self._double = Double(start_ms, like)
        self._patience_s = patience
        self._jitter = jitter
        self._lives: list[Process] = []
        self._standing: AbstractContextManager[None] | None = None

    # Start and end

    def __enter__(self) -> TestApp:
        self._loop = VirtualLoop(self._double, self._patience_s)
        self._clock = VirtualClock(self._loop, self._double, self._jitter)
        self._doors = Doors(self._double)
        self._recorder = Recorder(self.app.subscriptions, self._loop)
        standing = self.app.standing_on(self._doors, self._clock, self._recorder)
        try:
            standing.__enter__()
            self._standing = standing
            for _ in range(self._first):
                self.start()
        except BaseException:
            self._clear_away()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        failed = [one for one in self._lives if one.state == "failed" and not one.was_seen]
        self._clear_away()
        if error is None and failed:
            raise AssertionError(f"{failed[0].name} ended by itself") from failed[0].error

    def _clear_away(self) -> None:
        """End everything at once; the app is as it was before."""
        self._double.is_away = True
        for process in self._lives:
            process.kill()
        for process in self._lives:
            process.clear_away()
        self.run(self._doors.close_all())
        if self._standing is not None:
            self._standing.__exit__(None, None, None)
            self._standing = None
        self._loop.close()

    async def __aenter__(self) -> TestApp:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, traceback)

    # Time

    @property
    def now(self) -> datetime:
        """The virtual wall clock."""
        return datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)

    @property
    def elapsed(self) -> float:
        """Seconds since the test began."""
        return self._loop.time()

    def settle(self) -> Done:
        """Let everything run that needs no time."""
        return self.advance(0)

    def advance(self, by: Seconds) -> Done:
        """Let time pass; everything that becomes due meanwhile happens in order."""
        self._loop.run_to(self._loop.time() + seconds(by))
        return Done()

    def until(self, true: Callable[[], Any], *, within: Seconds = AN_HOUR_S) -> Done:
        """Let time pass until it is true; AssertionError if that takes longer than ``within``."""
        self._loop.run_to(self._loop.time() + seconds(within), lambda: bool(true()))
        if not true():
            raise AssertionError(
                f"It did not happen within {seconds(within):g} s.\n{self.report()}"
            )
        return Done()

    def drain(self, *, within: Seconds = AN_HOUR_S) -> Done:
        """Let time pass until every message is settled: handled, or a dead letter."""
        changes = -1

        def is_drained() -> bool:
            nonlocal changes
            before, changes = changes, self._double.changes
            return before != changes and self._is_drained()

        self._loop.run_to(self._loop.time() + seconds(within), is_drained)
        if not self._is_drained():
            text = f"There are messages that were not settled within {seconds(within):g} s."
            raise AssertionError(f"{text}\n{self.report()}")
        return Done()

    def run(self, coroutine: Coroutine[Any, Any, T], *, within: Seconds = AN_HOUR_S) -> T:
        """Run a coroutine in the loop of the handlers; time passes while it waits."""
        task: asyncio.Task[T] = self._loop.create_task(coroutine)
        self._loop.began(task)
        self._loop.run_to(self._loop.time() + seconds(within), task.done)
        self._loop.ended(task)
        if not task.done():
            task.cancel()
            self.settle()
            raise AssertionError(f"It was not done within {seconds(within):g} s: {coroutine!r}")
        return task.result()

    # Messages

    def publish(self, stream: str | Partitioned, message: Any, **options: Any) -> EntryId:
        """Call ``app.publish``, and let handlers run."""
        found = self.run(self.app.publish(stream, message, **options))
        self.settle()
        return EntryId(found or "")

    def publish_many(self, stream: str | Partitioned, messages: Iterable[Any]) -> list[str]:
        """Call ``app.publish_many``, and let handlers run."""
        found = self.run(self.app.publish_many(stream, messages))
        self.settle()
        return found

    def redrive(self, stream: str, chosen: Callable[[Letter], bool] = lambda _: True) -> int:
        """Send dead letters back, and let handlers run; return how many."""
        count = self.run(self.app.dead_letters(stream).redrive(chosen))
        self.settle()
        return count

    # Workers

    def start(self, name: str | None = None) -> Process:
        """Start one more worker; without a name it gets the next number."""
        if name is None:
            name = f"worker-{len({one.name for one in self._lives}) + 1}"
        known = self.workers.get(name)
        if known is not None and known.state in ("running", "frozen", "stopping"):
            raise ConfigError(f"{name} runs already.")
        process = Process(name, self.app, self._loop, self._double)
        self.workers[name] = process
        self._lives.append(process)
        self.settle()
        return process

    def kill(self, name: str) -> None:
        """Like kill -9: it hands nothing back, and none of its code runs any more."""
        self._alive(name).kill()
        self._recorder.killed(name)
        self.settle()

    def stop(self, name: str) -> None:
        """Like SIGTERM; it takes time while handlers run, up to ``grace``."""
        self._alive(name).stop()
        self.settle()

    def freeze(self, name: str) -> None:
        """Like SIGSTOP: it stands still, and does not notice."""
        self._alive(name).freeze()

    def thaw(self, name: str) -> None:
        """Like SIGCONT."""
        self._alive(name).thaw()
        self.settle()

    def _alive(self, name: str) -> Process:
        process = self.workers.get(name)
        if process is None:
            names = ", ".join(self.workers) or "none"
            raise ConfigError(f"There is no {name!r}. There are: {names}.")
        if process.state not in ("running", "frozen", "stopping"):
            raise ConfigError(f"{name} no longer runs ({process.state}). Start it again.")
        return process

    # The server

    def take_server_away(self) -> None:
        """Break all connections, and refuse new ones."""
        self._double.is_away = True
        self._double.cut()
        self.settle()

    def bring_server_back(self) -> None:
        """Accept connections again, with the same data as before."""
        self._double.is_away = False
        self.settle()

    @contextmanager
    def server_away(self) -> Iterator[None]:
        """``with t.server_away(): t.advance(10)``"""
        self.take_server_away()
        try:
            yield
        finally:
            self.bring_server_back()

    def cut(self, name: str | None = None) -> None:
        """Break the connections of one worker, or of all, once."""
        self._double.cut(None if name is None else self._alive(name))
        self.settle()

    def command(self, *words: bytes | str | float) -> Any:
        """Send any command, as redis-cli would; return its reply in bytes and numbers."""
        reply = self._double.ask(*words)
        if not self._loop.is_running():  # it runs while ``until`` checks its condition
            self.settle()
        return reply

    # Inspection

    def calls(self, stream: str | None = None) -> list[Call]:
        """All calls of handlers, in the order of their starts."""
        return [one for one in self._recorder.calls if stream in (None, one.stream, one.name)]

    def handled(self, stream: str | None = None) -> list[Any]:
        """The arguments of handlers that succeeded, in the order of their ends."""
        done = [one for one in self.calls(stream) if one.outcome == "done"]
        return [one.value for one in sorted(done, key=lambda one: one.ended_s or 0.0)]

    def entries(self, stream: str) -> list[Entry]:
        """The current entries of a stream."""
        rows = [self._double.ask("XRANGE", part, "-", "+") for part in self._parts(stream)]
        return [Entry(*row) for part in rows for row in part]

    def published(self, stream: str) -> list[Entry]:
        """All entries ever added to a stream, also those trimmed since."""
        rows = [self._double.added.get(part, []) for part in self._parts(stream)]
        return [Entry(entry_id, raw) for part in rows for entry_id, *raw in part]

    def pending(self, stream: str) -> list[Pending]:
        """Entries that were delivered to workers and are not acknowledged."""
        return [row for part in self._parts(stream) for row in self._pending(part)]

    def _pending(self, stream: str) -> list[Pending]:
        try:
            rows = self._double.ask("XPENDING", stream, self.app.group, "-", "+", ALL)
        except ResponseError as error:
            if str(error).startswith("NOGROUP"):
                return []
            raise
        return [Pending(i.decode(), who.decode(), ms / 1000, n) for i, who, ms, n in rows]

    def dead(self, stream: str) -> list[Letter]:
        """The dead letters of a stream."""
        known = self.app.subscriptions.get(stream)
        names = dead_streams(stream)
        if known is not None:
            names = dead_streams(known.partitioned or stream, known.options.dead)
        rows = [row for name in names for row in self._double.ask("XRANGE", name, "-", "+")]
        return [letter for row in rows if (letter := read(*row)) is not None]

    def later(self, stream: str) -> int:
        """How many delayed messages still wait."""
        return sum(map(self._later, self._parts(stream)))

    def _later(self, stream: str) -> int:
        count = 0
        for hour in self._double.ask("SMEMBERS", hours_key(stream)):
            for second in self._double.ask("SMEMBERS", hour_key(stream, int(hour))):
                count += self._double.ask("XLEN", second_key(stream, int(second)))
        return count

    def unread(self, stream: str) -> int:
        """How many entries of a stream no worker has seen yet."""
        return sum(map(self._unread, self._parts(stream)))

    def _unread(self, stream: str) -> int:
        if not self._double.ask("EXISTS", stream):
            return 0
        for row in map(pairs, self._double.ask("XINFO", "GROUPS", stream)):
            if row[b"name"].decode() == self.app.group:
                after = row[b"last-delivered-id"].decode()
                return len(self._double.ask("XRANGE", stream, f"({after}", "+"))
        return len(self._double.ask("XRANGE", stream, "-", "+"))

    def _parts(self, stream: str) -> list[str]:
        """The partitions of a stream, or the stream itself."""
        known = self.app.subscriptions.get(stream)
        if known is None or known.partitioned is None:
            return [stream]
        return [known.partitioned.stream(number) for number in range(known.partitioned.count)]

    @property
    def troubles(self) -> list[str]:
        """Connection errors that workers have seen."""
        return list(self._recorder.troubles)

    def _open(self, stream: str) -> int:
        return self.unread(stream) + len(self.pending(stream)) + self.later(stream)

    def _is_drained(self) -> bool:
        return not any(self._open(stream) for stream in self.app.subscriptions)

    # Assertions

    def assert_done(self, *streams: str) -> None:
        """Assert that every message was handled: none is open, none is dead."""
        chosen = streams or tuple(self.app.subscriptions)
        bad = [one for one in chosen if self._open(one) or self.dead(one)]
        if bad:
            text = f"Not all messages of {', '.join(bad)} were handled."
            raise AssertionError(f"{text}\n{self.report(bad)}")

    def assert_dead(self, stream: str, error: str, count: int = 1) -> list[Letter]:
        """Assert that ``count`` dead letters have an error that matches this regular expression."""
        letters = self.dead(stream)
        found = [letter for letter in letters if re.search(error, letter.error)]
        if len(found) != count:
            there = listed("dead letters", [letter_line(letter) for letter in letters])
            text = f"{len(found)} dead letters of {stream} match {error!r}, not {count}."
            raise AssertionError("\n".join([text, *(there or ["  There are none at all."])]))
        return found

    def report(self, streams: Sequence[str] = ()) -> str:
        """The time, the workers and the streams, for people."""
        lines = [f"{self.elapsed:g} s after the beginning", *worker_lines([*self.workers.values()])]
        for stream in streams or self.app.subscriptions:
            lines += stream_lines(
                *(stream, self.unread(stream), self.pending(stream), self.later(stream)),
                *(self.dead(stream), self.calls(stream)),
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        if self._standing is None:
            return "<TestApp, not entered>"
        return f"<TestApp\n{self.report()}\n>"
