"""Hooks: subclass ``Hooks``, override what you want to see, give it to ``App(hooks=[...])``.

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
    """What happens to messages; all of these do nothing."""

    def fetched(self, stream: str, count: int) -> None:
        """Messages came from the server."""

    def handled(self, message: Message, seconds: float) -> None:
        """A handler has ended well."""

    def failed(self, message: Message, error: BaseException, pause_s: float) -> None:
        """A handler has failed, and will be tried again after a pause."""

    def buried(self, message: Message, error: BaseException) -> None:
        """A message became a dead letter."""

    def lost(self, message: Message) -> None:
        """Somebody else has claimed a message that this process was silent about for too long."""

    def trouble(self, error: BaseException) -> None:
        """The server could not be used; it will be tried again."""

    def publishing(self, stream: str, fields: list[bytes]) -> None:
        """A message is about to be published; names and values may be added to its fields."""

    def around(self, messages: Sequence[Message]) -> AbstractContextManager[object]:
        """A handler is about to run, inside of this; several messages are a batch."""
        return nullcontext()


class HookList(Hooks):
    """Several hooks as one."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self._hooks = list(hooks)

    @property
    def is_empty(self) -> bool:
        """Whether nobody looks."""
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
