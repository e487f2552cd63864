"""OpenTelemetry: a span for each handler, and its context in each message.

    from forebay_workers.observe.tracing import Tracing

    app = App(url, hooks=[Tracing()])

A message carries ``@traceparent`` (and ``@tracestate``), as W3C names them.  The span of a handler
is a child of the span that published the message; the span of a batch is linked to all of its
messages, because it has many parents.  Needs the extra ``forebay-workers[opentelemetry]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanKind

from forebay_workers.message import HEADER, Message
from forebay_workers.observe.hooks import Hooks

NAMES = ("traceparent", "tracestate")


class Tracing(Hooks):
    """Creates spans and passes their context on in messages."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("forebay_workers")

    def publishing(self, stream: str, fields: list[bytes]) -> None:
        """Put the current context into the message."""
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        for name in NAMES:
            if name in carrier:
                fields += (HEADER + name.encode(), carrier[name].encode())

    def around(self, messages: Sequence[Message]) -> AbstractContextManager[object]:
        """A span for the handler."""
        first = messages[0]
        about: dict[str, str | int] = {
            "messaging.system": "redis",
            "messaging.destination.name": first.stream,
            "messaging.batch.message_count": len(messages),
        }
        if len(messages) == 1:
            return self._tracer.start_as_current_span(
                f"process {first.stream}",
                context=_context(first),
                kind=SpanKind.CONSUMER,
                attributes={**about, "messaging.message.id": first.id},
            )
        links = [
            Link(span.get_span_context())
            for span in (trace.get_current_span(_context(message)) for message in messages)
            if span.get_span_context().is_valid
        ]
        return self._tracer.start_as_current_span(
            f"process {first.stream}", kind=SpanKind.CONSUMER, links=links, attributes=about
        )


def _context(message: Message) -> Context:
    found = {name: message.header(HEADER + name.encode()) for name in NAMES}
    return propagate.extract({name: text.decode() for name, text in found.items() if text})
