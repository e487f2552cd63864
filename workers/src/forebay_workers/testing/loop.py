"""An event loop with virtual time, whose tasks belong to processes that can be stopped.

    run_to(end_s)     run ready callbacks;  none?  jump to the next timer;  past the end?  stop

``loop.time()`` is the virtual time.  So ``asyncio.sleep``, ``asyncio.timeout`` and ``call_later``
follow it, also in code that does not know about tests.  Real waits still work: a function in a
thread, and a handler with an open socket, have some seconds of real time before the virtual clock
continues without them.

A task belongs to the process in whose context it was created (``PROCESS``).  While the process is
stopped, as by SIGSTOP, none of its callbacks runs: they are kept, and run when it continues, if
ever.

Plain calls run the loop, also from inside a coroutine of another loop: the test's.  Nothing else of
that loop runs meanwhile.
"""

from __future__ import annotations

import asyncio
import contextvars
import selectors
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, TypeVarTuple, Unpack

from forebay_workers.errors import ConfigError

FAR_S = float("inf")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Events = list[tuple[selectors.SelectorKey, int]]


class Stoppable(Protocol):
    """A process, as the loop sees it."""

    is_stopped: bool

    def keep(self, step: Step) -> None: ...
    def owns(self, task: asyncio.Task[Any]) -> None: ...


class World(Protocol):
    """Something with its own time, which must follow the loop's time."""

    def next_due_s(self) -> float: ...
    def set_time(self, now_s: float) -> None: ...


#: The process whose code runs; None: the code of the test.
PROCESS: contextvars.ContextVar[Stoppable | None] = contextvars.ContextVar("process", default=None)


class Step:
    """A callback of a process; kept while the process is stopped."""

    __slots__ = ("args", "callback", "context", "handle", "process")

    def __init__(
        self,
        process: Stoppable,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context,
    ) -> None:
        self.process = process
        self.callback = callback
        self.args = args
        self.context = context
        self.handle: asyncio.Handle | None = None

    def __call__(self) -> None:
        if self.handle is not None and self.handle.cancelled():
            return
        if self.process.is_stopped:
            self.process.keep(self)
        else:
            self.callback(*self.args)

    def __repr__(self) -> str:
        return f"Step({self.callback!r})"


class IdleSelector(selectors.DefaultSelector):
    """Calls the loop instead of sleeping."""

    def __init__(self) -> None:
        super().__init__()
        self.idle: Callable[[float], Events] = lambda _: []

    def real_select(self, timeout_s: float) -> Events:
        """The events that are ready within this much real time."""
        return super().select(timeout_s)

    def select(self, timeout: float | None = None) -> Events:
        """Called with 0 while callbacks are ready; otherwise none is ready before that time."""
        if timeout is not None and timeout <= 0:
            return super().select(0)
        return self.idle(FAR_S if timeout is None else timeout)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that runs only when called, up to a given time."""

    def __init__(self, world: World, patience_s: float) -> None:
        self._now_s = 0.0
        self._end_s = 0.0
        self._is_done: Callable[[], bool] = lambda: False
        self._world = world
        self._patience_s = patience_s
        #: Calls in threads, and calls that may wait for a socket, each with its start in real
        #: time.
        self._threads: dict[object, float] = {}
        self._calls: dict[object, float] = {}
        self._idle_selector = IdleSelector()
        super().__init__(self._idle_selector)
        self._idle_selector.idle = self._idle

    def time(self) -> float:
        """Seconds of virtual time since the test began."""
        return self._now_s

    # Running

    def run_to(self, end_s: float, is_done: Callable[[], bool] = lambda: False) -> None:
        """Run until nothing is left to do before that time, or until ``is_done``."""
        if self.is_running():
            raise ConfigError(
                "A handler called TestApp, which waits for the handler. Call it in the test only."
            )
        self._end_s, self._is_done = max(end_s, self._now_s), is_done
        with _outside_of_other_loops():
            self.run_forever()

    def _idle(self, timer_s: float) -> Events:
        """Called when nothing is ready and no timer is due within ``timer_s``."""
        events = self._idle_selector.real_select(0)
        if not events and self._is_done():
            self.stop()
            return []
        events = events or self._await_real()
        if events:
            return events
        next_s = min(self._now_s + timer_s, self._world.next_due_s())
        if next_s <= self._end_s:
            self._jump(max(next_s, self._now_s))
        else:
            self._jump(self._end_s)
            self.stop()
        return []

    def _jump(self, to_s: float) -> None:
        self._now_s = to_s
        self._world.set_time(to_s)

    def _await_real(self) -> Events:
        """Wait for threads and sockets that have some patience left."""
        while left_s := [one for one in map(self._left_s, self._real()) if one > 0]:
            if events := self._idle_selector.real_select(min(left_s)):
                return events
        return []

    def _real(self) -> list[float]:
        """The start times of all calls that may need real time."""
        has_sockets = len(self._idle_selector.get_map()) > 1  # one socket is the loop's own
        return [*self._threads.values(), *(self._calls.values() if has_sockets else ())]

    def began(self, call: object) -> None:
        """Note the start of a call that may wait for a socket."""
        self._calls[call] = time.monotonic()

    def ended(self, call: object) -> None:
        """Note its end."""
        self._calls.pop(call, None)

    def _left_s(self, began_s: float) -> float:
        return began_s + self._patience_s - time.monotonic()

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """As in any loop; it also notes that a thread is at work."""
        future = super().run_in_executor(executor, func, *args)
        self._threads[future] = time.monotonic()
        future.add_done_callback(lambda done: self._threads.pop(done, None))
        return future

    # Tasks and callbacks of processes

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        """A task of the process that creates it."""
        task = super().create_task(coro, **options)
        process = _process_in(options.get("context"))
        if process is not None:
            process.owns(task)
        return task

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Call it in this turn or the next, unless its process is stopped."""
        process = _process_in(context)
        if process is None:
            return super().call_soon(callback, *args, context=context)
        step = Step(process, callback, args, context or contextvars.copy_context())
        step.handle = super().call_soon(step, context=step.context)
        return step.handle

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call it at that time, unless its process is stopped then."""
        process = _process_in(context)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        step = Step(process, callback, args, context or contextvars.copy_context())
        timer = super().call_at(when, step, context=step.context)
        step.handle = timer
        return timer

    def again(self, step: Step) -> None:
        """Run a callback that was kept."""
        super().call_soon(step, context=step.context)


def _process_in(context: contextvars.Context | None) -> Stoppable | None:
    return PROCESS.get() if context is None else context.get(PROCESS)


@contextmanager
def _outside_of_other_loops() -> Iterator[None]:
    """Temporarily no other loop of this thread is running, and none of its tasks."""
    outer = asyncio._get_running_loop()
    task = asyncio.current_task(outer) if outer is not None else None
    if outer is not None and task is not None:
        asyncio.tasks._leave_task(outer, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)
        if outer is not None and task is not None:
            asyncio.tasks._enter_task(outer, task)
