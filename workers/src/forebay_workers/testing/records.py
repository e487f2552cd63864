"""Records for tests: calls of handlers, entries, pending entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from forebay_workers.message import Message
from forebay_workers.observe.hooks import Hooks
from forebay_workers.partitioned import name_of
from forebay_workers.testing.loop import PROCESS, VirtualLoop
from forebay_workers.worker.flow import Subscription


@dataclass(eq=False)
class Call:
    """One call of a handler: worker, argument, times, outcome."""

    worker: str
    stream: str
    #: The argument of the handler: an object, or a list of them for a batch.
    value: Any
    ids: list[str]
    #: 1 for the first attempt; for a batch the highest.
    attempt: int
    #: Seconds since the test began.
    began_s: float
    ended_s: float | None = None
    outcome: Literal["running", "done", "failed", "cancelled", "killed"] = "running"
    error: BaseException | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The stream, without the number of the partition."""
        return name_of(self.stream)

    def __str__(self) -> str:
        end = "" if self.error is None else f": {type(self.error).__name__}: {self.error}"
        return (
            f"{self.began_s:9.3f} s  {self.worker}  {self.stream} {', '.join(self.ids)}  "
            f"attempt {self.attempt}  {self.outcome}{end}"
        )


class Entry(dict[str, str]):
    """The fields of an entry, as a dict, with its ID."""

    def __init__(self, entry_id: bytes, raw: Sequence[bytes]) -> None:
        texts = [part.decode("utf-8", "replace") for part in raw]
        super().__init__(zip(texts[::2], texts[1::2], strict=True))
        self.id = entry_id.decode()

    def __repr__(self) -> str:
        return f"<{self.id} {super().__repr__()}>"


@dataclass(frozen=True)
class Pending:
    """An entry that was delivered and is not acknowledged."""

    id: str
    consumer: str
    idle_s: float
    deliveries: int

    def __str__(self) -> str:
        who = self.consumer or "nobody"
        return f"{self.id} at {who} for {self.idle_s:g} s, delivered {self.deliveries} times"


class Recorder(Hooks):
    """Records every call of a handler."""

    def __init__(self, subscriptions: Mapping[str, Subscription], loop: VirtualLoop) -> None:
        self._subscriptions = subscriptions
        self._loop = loop
        self.calls: list[Call] = []
        #: Errors of the connection, as text.
        self.troubles: list[str] = []

    def trouble(self, error: BaseException) -> None:
        """The server could not be used."""
        self.troubles.append(str(error))

    def killed(self, worker: str) -> None:
        """Mark the calls of a killed worker: they will never end."""
        for call in self.calls:
            if call.worker == worker and call.outcome == "running":
                self._end(call, "killed", None)

    @contextmanager
    def around(self, messages: Sequence[Message]) -> Iterator[None]:
        """The context in which a handler runs."""
        call = self._begin(messages)
        try:
            yield
        except Exception as error:
            self._end(call, "failed", error)
            raise
        except BaseException as error:
            self._end(call, "cancelled", error)
            raise
        self._end(call, "done", None)

    def _begin(self, messages: Sequence[Message]) -> Call:
        first = messages[0]
        call = Call(
            worker=getattr(PROCESS.get(), "name", ""),
            stream=first.stream,
            value=self._value(messages),
            ids=[message.id for message in messages],
            attempt=max(message.attempt for message in messages),
            began_s=self._loop.time(),
        )
        self.calls.append(call)
        self._loop.began(call)
        return call

    def _value(self, messages: Sequence[Message]) -> Any:
        """A second copy of the handler's argument: the handler may change its own."""
        subscription = self._subscriptions[name_of(messages[0].stream)]
        values = [subscription.router.choose(one).decode(one) for one in messages]
        return values[0] if subscription.batch is None else values

    def _end(
        self,
        call: Call,
        outcome: Literal["done", "failed", "cancelled", "killed"],
        error: BaseException | None,
    ) -> None:
        if call.outcome == "running":
            call.outcome, call.error, call.ended_s = outcome, error, self._loop.time()
            self._loop.ended(call)
