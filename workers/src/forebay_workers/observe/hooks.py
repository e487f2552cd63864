"""Hooks: subclass ``Hooks``, override the methods that you need, pass it to ``App(hooks=[...])``.

They are called in the event loop, one after another, and must not block.  An error in a hook is
logged and changes nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from forebay_workers.message import Message

log = logging.getLogger("forebay_workers")


class Hooks:
    """Called with what happens to messages; each method does nothing by default."""

    def fetched(self, stream: str, count: int) -> None:
        """Messages arrived from the server."""

    def handled(self, message: Message, seconds: float) -> None:
        """A handler has succeeded."""

    def failed(self, message: Message, error: BaseException, pause_s: float) -> None:
        """A handler has failed; the message is tried again after a pause."""

    def buried(self, message: Message, error: BaseException) -> None:
        """A message became a dead letter."""

    def lost(self, message: Message) -> None:
        """Another worker has claimed a message, because this process was silent for too long."""

    def trouble(self, error: BaseException) -> None:
        """The server could not be used; the worker tries again."""

    def publishing(self, stream: str, fields: list[bytes]) -> None:
        """A message is about to be published; the hook may add names and values to its fields."""

    def around(self, messages: Sequence[Message]) -> AbstractContextManager[object]:
        """A context in which a handler runs; several messages are a batch."""
        return nullcontext()


class HookList(Hooks):
    """Several hooks as one."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self._hooks = list(hooks)

    @property
    def is_empty(self) -> bool:
        """Whether there are no hooks."""
        return not self._hooks

    def _each(self, name: str, *arguments: object) -> None:
        for hook in self._hooks:
            try:
                getattr(hook, name)(*arguments)
            except Exception:
                log.exception("the hook %s of %r has failed", name, hook)

    def fetched(self, stream: str, count: int) -> None:
        self._each("fetched", stream, count)

    def handled(self, message: Message, seconds: float) -> None:
        self._each("handled", message, seconds)

    def failed(self, message: Message, error: BaseException, pause_s: float) -> None:
        where = (message.stream, message.id, message.starts)
        log.warning("%s %s failed at attempt %d: %r; again in %.1f s", *where, error, pause_s)
        self._each("failed", message, error, pause_s)

    def buried(self, message: Message, error: BaseException) -> None:
        log.error("%s %s became a dead letter: %r", message.stream, message.id, error)
        self._each("buried", message, error)

    def lost(self, message: Message) -> None:
        log.warning("%s %s was claimed by another worker", message.stream, message.id)
        self._each("lost", message)

    def publishing(self, stream: str, fields: list[bytes]) -> None:
        self._each("publishing", stream, fields)

    @contextmanager
    def around(self, messages: Sequence[Message]) -> Iterator[None]:
        with ExitStack() as stack:
            for hook in self._hooks:
                stack.enter_context(hook.around(messages))
            yield

    def trouble(self, error: BaseException) -> None:
        log.warning("the server cannot be used now: %s", error)
        self._each("trouble", error)
