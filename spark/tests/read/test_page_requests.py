"""The columns of the server and the entries of XRANGE give the same result."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from forebay_spark.errors import MalformedError
from forebay_spark.ids import FIRST
from forebay_spark.options import BATCH
from forebay_spark.read import reading
from forebay_spark.read.offsets import Position
from forebay_spark.read.reading import Part, Task, read_task
from forebay_spark.values.schema import PLAIN
from spark.tests.support.spark_streams import Target, struct

NAMES = st.sampled_from([b"a", b"b", b"c", b"caf\xc3\xa9", b"\xff"])
VALUES = st.one_of(
    st.sampled_from([b"", b"0", b"-1", b"12.5", b"true", b"x", b"\xfe\xff", b"z" * 300]),
    st.integers(-(2**63), 2**63).map(lambda n: b"%d" % n),
)
ENTRIES = st.lists(
    st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4), min_size=1, max_size=20
)
#: Entries of one producer: the same fields in the same order.
ALIKE = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=20).map(
    lambda rows: [[(b"a", a), (b"b", b)] for a, b in rows]
)
#: Entries whose fields may be sent as numbers.
NUMBERS = st.one_of(
    st.integers(-200, 200).map(lambda n: b"%d" % n),
    st.integers(-(2**40), 2**40).map(lambda n: b"%d" % n),
    st.decimals(-1000, 1000, places=2).map(lambda d: str(d).encode()),
)
WITH_NUMBERS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20).map(
    lambda rows: [[(b"a", a), (b"b", b)] for a, b in rows]
)
SCHEMAS = [
    PLAIN,
    struct(a="integer", b="string", c="binary"),
    struct(_id="string", a="double", _timestamp="timestamp", _seq="long", _stream="string"),
    struct(a="integer", _corrupt="string", _reason="string", b="boolean"),
    struct(b="string", a="long", _reason="string"),
    struct(_id="string"),
    struct(a="byte", b="double"),
    struct(a="double", b="short", _reason="string"),
    struct(a="long", b="float"),
]


def read(target: Target, schema: StructType, mode: str, in_columns: bool) -> list[dict[str, Any]]:
    """All rows of the stream, or the error."""
    options = target.options(BATCH, streams="s", mode=mode)
    task = Task([Part("s", target.whole("s"), Position(FIRST, 0))], in_columns)
    try:
        batches = list(read_task(schema, options, task))
    except MalformedError as error:
        return [{"error": str(error)}]
    rows = pa.Table.from_batches(batches).to_pylist() if batches else []
    return [{name: tidy(value) for name, value in row.items()} for row in rows]


def tidy(value: Any) -> Any:
    """A map as a dictionary: the order of its pairs means nothing."""
    return dict(value) if isinstance(value, list) else value


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: ",".join(schema.fieldNames()))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.one_of(ENTRIES, ALIKE, WITH_NUMBERS),
    st.sampled_from(["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]),
)
def test_columns_and_entries_give_the_same_rows(
    forebay_server: Any,
    schema: StructType,
    entries: list[list[tuple[bytes, bytes]]],
    mode: str,
) -> None:
    target = Target(forebay_server)
    target.client.flushall()
    for i, pairs in enumerate(entries):
        flat = [part for pair in pairs for part in pair]
        target.client.execute_command("XADD", "s", f"{i + 1}-{i}", *flat)
    assert read(target, schema, mode, True) == read(target, schema, mode, False)


def test_large_pages_of_columns_are_cut_by_the_server_and_nothing_is_missing(
    forebay_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FIRST_PAGE_ENTRIES", 1000)
    target = Target(forebay_server)
    target.add("s", 100, text="x" * 1_000_000)
    rows = read(target, struct(n="integer", text="string"), "FAILFAST", True)
    assert [row["n"] for row in rows] == list(range(100))
