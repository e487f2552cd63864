"""A handler: a function of the user, and the facts from its signature.

    async def bill(order: Order, m: Message) -> Receipt    the message, and its delivery
    async def any(m: Message)                              the delivery alone
    async def either(event: Placed | Cancelled)            several types, told apart by @type
    async def load(rows: list[Click], m: list[Message])    a batch, and its deliveries

Plain functions run in threads.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import types
import typing
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

from forebay_workers.clock import Clock
from forebay_workers.codecs.codec import Decode, decoder, tag_of
from forebay_workers.errors import ConfigError, MisfitError
from forebay_workers.message import TYPE, Message
from forebay_workers.options import HandlerOptions, Layout

ANY = b""


class Handler:
    """A function with its types and options."""

    def __init__(
        self,
        function: Callable[..., Any],
        layout: Layout,
        options: HandlerOptions,
        *,
        is_batch: bool = False,
    ) -> None:
        self.function = function
        self.name = getattr(function, "__qualname__", repr(function))
        self.options = options
        wanted, self.wants_message = _wanted(function)
        kinds = _kinds(_of_list(wanted, self.name) if is_batch else wanted)
        #: How to read each type; ANY if there is only one.
        self.decoders: dict[bytes, Decode] = {
            (tag_of(kind) if _has_tag(kind) else ANY): decoder(kind, layout) for kind in kinds
        }
        several = list(self.decoders.values())
        self._only = several[0] if len(several) == 1 else None
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004
        )

    def decode(self, message: Message) -> Any:
        """The first argument of the function; MisfitError if the message does not fit."""
        if self._only is not None:
            return self._only(message)
        tag = message.header(TYPE)
        decode_it = self.decoders.get(tag or ANY, self.decoders.get(ANY))
        if decode_it is None:
            raise MisfitError(unknown_type(tag, self.decoders))
        return decode_it(message)

    def decode_all(self, messages: Sequence[Message]) -> list[Any]:
        """The first argument of a batch handler; MisfitError if one of them does not fit."""
        return list(map(self._only or self.decode, messages))


def unknown_type(tag: bytes | None, known: typing.Iterable[bytes]) -> str:
    """The reason why a message has no handler."""
    names = ", ".join(sorted(one.decode() for one in known if one)) or "none"
    if tag is None:
        return f"The message has no @type; handlers know {names}"
    return f"The message is a {tag.decode('utf-8', 'replace')}; handlers know {names}"


def _wanted(function: Callable[..., Any]) -> tuple[Any, bool]:
    """The type of the first argument, and whether a Message is the second."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
        hints = typing.get_type_hints(function)
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(f"The signature of {function!r} cannot be read: {error}.") from None
    if not 1 <= len(parameters) <= 2:
        raise ConfigError(
            f"The handler {function!r} must take a message, and optionally a Message about it."
        )
    first = hints.get(parameters[0].name, dict)
    return first, len(parameters) == 2


def _of_list(wanted: Any, name: str) -> Any:
    """The type of the members of a list."""
    if wanted in (list, dict):  # the type of the members is not given
        return dict
    if typing.get_origin(wanted) is not list:
        raise ConfigError(f"The batch handler {name} must take a list, as in list[Click].")
    return typing.get_args(wanted)[0]


def _kinds(wanted: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    if typing.get_origin(wanted) in (typing.Union, types.UnionType):
        return typing.get_args(wanted)
    return (typing.get_origin(wanted) or wanted,)


def _has_tag(kind: Any) -> bool:
    return kind is not Any and kind is not dict and kind is not Message


async def call(
    handler: Handler, arguments: tuple[Any, ...], clock: Clock, threads: Executor
) -> Any:
    """The result of the handler; TimeoutError if it takes too long.

    A coroutine is cancelled when its time is up.  A function in a thread cannot be cancelled: its
    time is checked when it returns, and the message stays ours until then.
    """
    limit_s = handler.options.timeout_s
    if handler.is_async:
        coroutine = handler.function(*arguments)
        return await (coroutine if limit_s is None else _limited(coroutine, limit_s, clock))
    began_s = clock.monotonic_s()
    loop = asyncio.get_running_loop()
    # The thread sees context variables that a hook has set around the call.
    inside = contextvars.copy_context().run
    result = await loop.run_in_executor(threads, inside, handler.function, *arguments)
    if limit_s is not None and clock.monotonic_s() - began_s > limit_s:
        raise TimeoutError(f"{handler.name} took longer than {limit_s:g} s")
    return result


async def _limited(coroutine: Any, limit_s: float, clock: Clock) -> Any:
    task = asyncio.current_task()
    assert task is not None
    is_over = False

    def end() -> None:
        nonlocal is_over
        is_over = True
        task.cancel()

    timer = clock.call_later(limit_s, end)
    try:
        return await coroutine
    except asyncio.CancelledError:
        if is_over and task.uncancel() <= 0:
            raise TimeoutError(f"it took longer than {limit_s:g} s") from None
        raise
    finally:
        timer.cancel()
