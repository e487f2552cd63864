"""Typed values: JSON into structs, and values that do not fit.

decoding    one page in this process: ours against ``json.loads`` and ``pa.array``
reading     the whole way into Spark's noop sink: a typed struct against the field as a
            string and Spark's own ``from_json``
2 % bad     the same reads where every fiftieth value does not fit, against none
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from bench.load import crowd
from bench.peers import Peer
from bench.rows import F4, FOREVER_S, PIPELINE, entry_id
from bench.spark.lines import Line, compare, warm_in_turns
from bench.spark.reads import TYPED, to_noop_s
from bench.spark.stage import Stage, url
from forebay.cli.watching.crowd import Expect
from forebay_spark.values.nested import converter
from testkit.resp import encode

FIELD = "order"
INNER = (
    "id bigint, item string, price double, tags array<string>, "
    "address struct<street: string, zip: int>"
)
NESTED = f"{FIELD} struct<{INNER}>"
PAGE_ROWS = 20_000
EVERY = 50

Fields = tuple[bytes, ...]


def order(at: int) -> Fields:
    """An entry with one field of JSON, with a member that no schema knows."""
    value = {
        "id": at,
        "item": f"book-{at}",
        "price": at * 1.25,
        "tags": ["new", f"shelf-{at % 7}"],
        "address": {"street": f"Main Street {at % 1000}", "zip": 10_000 + at % 99},
        "session": None,
    }
    return FIELD.encode(), json.dumps(value).encode()


def race(_at: int) -> Fields:
    """The entry of the other measurements."""
    return F4


def sometimes(bad: Fields, good: Callable[[int], Fields]) -> Callable[[int], Fields]:
    """Every fiftieth entry is the bad one."""
    return lambda at: good(at) if at % EVERY else bad


BAD_ORDER = (FIELD.encode(), b'{"id": "x", "item": "book"}')
BAD_RACE = (*F4[:3], b"fast", b"position", b"first", *F4[6:])
STREAMS: dict[str, Callable[[int], Fields]] = {
    "bench:orders": order,
    "bench:orders-bad": sometimes(BAD_ORDER, order),
    "bench:races": race,
    "bench:races-bad": sometimes(BAD_RACE, race),
}


def fill(peer: Peer, stream: str, entries: int) -> None:
    """Append the entries of one of the streams."""
    make = STREAMS[stream]

    def batches() -> Iterator[bytes]:
        for low in range(0, entries, PIPELINE):
            every = range(low, min(low + PIPELINE, entries))
            yield b"".join(encode(b"XADD", stream, entry_id(at), *make(at)) for at in every)

    crowd(peer, 1, batches(), Expect(marker=b"$", count=PIPELINE), PIPELINE, FOREVER_S)


def table(stage: Stage, stream: str, schema: str) -> DataFrame:
    """One of the streams with a schema; each is filled once."""
    if stage.forebay.command("XLEN", stream) != stage.plan.entries:
        fill(stage.forebay, stream, stage.plan.entries)
    reader = stage.spark.read.format("forebay").schema(schema)
    frame = reader.options(url=url(stage.forebay), streams=stream, minPartitions=2).load()
    assert frame.count() == stage.plan.entries
    return frame


def rate(stage: Stage, frame: DataFrame) -> float:
    """Rows a second of one read."""
    return stage.plan.entries / to_noop_s(frame)


def decoding(stage: Stage) -> list[Line]:
    """A page, in this process."""
    kind = to_arrow_schema(table(stage, "bench:orders", NESTED).schema).field(0).type
    column = converter(kind)
    pages = {name: pa.array([STREAMS[name](at)[1] for at in range(PAGE_ROWS)]) for name in STREAMS}
    page, with_bad = pages["bench:orders"], pages["bench:orders-bad"]

    def per_s(run: Callable[[], object]) -> float:
        start = time.process_time()
        run()
        return PAGE_ROWS / (time.process_time() - start)

    ways: dict[str, Callable[[], object]] = {
        "Forebay": lambda: column.tolerant(page),
        "json.loads, pa.array": lambda: pa.array([json.loads(v) for v in page.to_pylist()], kind),
        "2 % bad": lambda: column.tolerant(with_bad),
    }
    title = "decode JSON into a struct"
    samples = warm_in_turns(3 * stage.plan.rounds, {n: partial(per_s, w) for n, w in ways.items()})
    stage.samples[title] = samples
    bad = {"2 % bad": samples["2 % bad"], "none bad": samples["Forebay"]}
    return [
        *compare(title, "rows/s", samples, {"json.loads, pa.array": 0.8}),
        *compare(f"{title}, 2 % bad", "rows/s", bad, {"none bad": 0.5}),
    ]


def nested(stage: Stage) -> list[Line]:
    """JSON in one field, all the way into Spark."""
    text = table(stage, "bench:orders", f"{FIELD} string")
    parsed = text.select(F.from_json(FIELD, INNER).alias(FIELD))
    frames = {
        "Forebay": table(stage, "bench:orders", NESTED),
        "string, from_json": parsed,
        "2 % bad": table(stage, "bench:orders-bad", NESTED),
    }
    assert frames["Forebay"].orderBy(f"{FIELD}.id").first() == parsed.orderBy(f"{FIELD}.id").first()
    return read_lines(stage, "read JSON into a struct", frames, {"string, from_json": 1.0})


def typed(stage: Stage) -> list[Line]:
    """Flat columns with and without bad values."""
    frames = {
        "Forebay": table(stage, "bench:races", TYPED),
        "2 % bad": table(stage, "bench:races-bad", TYPED),
    }
    return read_lines(stage, "read four typed columns", frames, {})


def read_lines(
    stage: Stage, title: str, frames: dict[str, DataFrame], targets: dict[str, float | None]
) -> list[Line]:
    """The first table against the others, and the one with bad values against the first."""
    cases = {name: partial(rate, stage, frame) for name, frame in frames.items()}
    samples = warm_in_turns(stage.plan.rounds, cases)
    stage.samples[title] = samples
    bad = {"2 % bad": samples["2 % bad"], "none bad": samples["Forebay"]}
    return [
        *compare(title, "rows/s", samples, targets),
        *compare(f"{title}, 2 % bad", "rows/s", bad, {"none bad": 0.5}),
    ]


def records(stage: Stage) -> list[Line]:
    """All of them."""
    return [*decoding(stage), *nested(stage), *typed(stage)]
