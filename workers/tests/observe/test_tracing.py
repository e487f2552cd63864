"""Spans of handlers belong to the publisher's trace, and batches are linked to their messages."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from forebay_workers.observe.tracing import Tracing
from workers.tests.support.target import Target, until, working


@pytest.fixture(scope="session")
def collected() -> InMemorySpanExporter:
    """A process accepts only one provider; tests of this module may reach it in several parts."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


async def test_a_handler_continues_the_trace_of_the_publisher_through_streams(
    target: Target, collected: InMemorySpanExporter
) -> None:
    collected.clear()
    app, inside = target.app(hooks=[Tracing()]), []

    @app.on("s", to="out")
    async def handler(fields: dict) -> dict:
        inside.append(trace.get_current_span().get_span_context().trace_id)
        return fields

    @app.on("out")
    def last(fields: dict) -> None:
        inside.append(trace.get_current_span().get_span_context().trace_id)

    async with working(app):
        with trace.get_tracer("test").start_as_current_span("publish") as span:
            mine = span.get_span_context().trace_id
            await app.publish("s", {"n": 1})
        await until("handled", lambda: len(inside) == 2 and not target.pending("out"))
    assert inside == [mine, mine]
    names = {span.name: span for span in collected.get_finished_spans()}
    assert set(names) == {"publish", "process s", "process out"}
    parent = names["process out"].parent
    assert parent is not None and parent.span_id == names["process s"].context.span_id


async def test_a_batch_is_linked_to_its_messages(
    target: Target, collected: InMemorySpanExporter
) -> None:
    collected.clear()
    app, seen = target.app(hooks=[Tracing()]), []

    @app.on_batch("s", size=3, within=60)
    async def load(rows: list[dict]) -> None:
        seen.extend(rows)

    async with working(app):
        for n in range(3):
            with trace.get_tracer("test").start_as_current_span("publish"):
                await app.publish("s", {"n": n})
        await until("handled", lambda: len(seen) == 3)
    assert seen == [{"n": "0"}, {"n": "1"}, {"n": "2"}]
    (batch,) = [span for span in collected.get_finished_spans() if span.name == "process s"]
    published = [span for span in collected.get_finished_spans() if span.name == "publish"]
    assert [link.context.span_id for link in batch.links] == [s.context.span_id for s in published]
