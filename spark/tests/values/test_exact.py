"""Rows lose nothing: the original bytes can be rebuilt from the decoded values."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from forebay_spark.ids import FIRST
from forebay_spark.options import BATCH
from forebay_spark.read.decode import Decoder
from forebay_spark.read.offsets import Position
from forebay_spark.read.pages import EntryPage
from forebay_spark.read.reading import Part, Task, read_task
from forebay_spark.values import exact
from forebay_spark.values.entry_columns import completed_schema
from forebay_spark.values.pairs import decoded, is_text
from forebay_spark.values.schema import ARCHIVED, PLAIN, PLAIN_BYTES, SPECIAL
from spark.tests.support.spark_streams import Target, batch_options, struct
from testkit.places import ROOT

Fields = list[tuple[bytes, bytes]]
DOCUMENTED = ROOT.joinpath("docs/pipelines.md").read_text(encoding="utf-8")


def kept(**columns: Any) -> StructType:
    """A schema of an archive: an ID, these columns, and the columns that keep rows exact."""
    fields = [StructField(name, kind) for name, kind in columns.items()]
    return completed_schema(StructType([StructField("_id", StringType()), *fields]))


MEMBER = StructType([StructField("x", IntegerType()), StructField("y", ArrayType(StringType()))])
ORDERS = kept(id=IntegerType(), amount=DoubleType())
TYPED = [
    ORDERS,
    kept(b=StringType(), a=LongType(), c=BinaryType()),
    kept(a=BooleanType(), c=DateType(), d=DecimalType(10, 2), b=TimestampType()),
    kept(a=MEMBER, b=MapType(StringType(), DoubleType()), c=TimestampNTZType(), d=FloatType()),
    kept(),
]
EXACT = [
    ARCHIVED,
    *TYPED,
    StructType([*ORDERS, StructField("_fields", SPECIAL["_fields"])]),
    StructType([*ORDERS, StructField("_fields", PLAIN_BYTES["fields"].dataType)]),
]

NAMES = st.sampled_from([b"a", b"b", b"c", b"d", b"id", b"amount", b"caf\xc3\xa9", b"", b"_id"])
TEXTS = st.sampled_from(
    [
        *(
            b"",
            b"0",
            b"-1",
            b"007",
            b"12.5",
            b"12.50",
            b"1e3",
            b"0.1",
            b"true",
            b"TRUE",
            b"1",
            b"x",
        ),
        *(b"2026-01-31", b"2026-01-31T12:00:00.250Z", b"2026-01-31 12:00:00", b"1769860800250"),
        *(b'{"x":1,"y":["a",null]}', b'{"x": 1}', b'{"z":1}', b"{}", b"null", b"[]", b"nan"),
        *(b'{"k":1.5}', b'{"k":1.5,"k":2}', b"\xfe\xff", b"\xef\xbf\xbd", b"z" * 40),
    ]
)
ENTRY = st.lists(
    st.tuples(NAMES | st.binary(max_size=2), TEXTS | st.binary(max_size=4)), min_size=1, max_size=5
)
#: Entries of one producer: the same names in the same order.
ALIKE = st.tuples(
    st.lists(NAMES, min_size=1, max_size=4), st.lists(st.lists(TEXTS, min_size=4, max_size=4))
).map(lambda made: [list(zip(made[0], row, strict=False)) for row in made[1]])
ENTRIES = st.one_of(st.lists(ENTRY, min_size=1, max_size=8), ALIKE.filter(bool))


def decode(schema: StructType, *entries: Fields, **options: Any) -> pa.RecordBatch:
    page = EntryPage(
        [
            [b"%d-0" % at, [part for pair in entry for part in pair]]
            for at, entry in enumerate(entries)
        ]
    )
    batch = Decoder(schema, batch_options(**options)).batch("s", page)
    batch.validate(full=True)
    return batch


@pytest.mark.parametrize("schema", EXACT, ids=lambda schema: ",".join(schema.fieldNames()))
@given(ENTRIES, st.sampled_from(["iso", "epoch_s", "epoch_ms"]))
def test_an_entry_is_rebuilt_from_its_row(
    schema: StructType, entries: list[Fields], times: str
) -> None:
    batch = decode(schema, *entries, timestampFormat=times)
    assert exact.rebuilt(batch, times) == entries


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ENTRIES)
def test_both_forms_of_reading_keep_every_entry(forebay_server: Any, entries: list[Fields]) -> None:
    target = Target(forebay_server)
    target.client.flushall()
    for at, entry in enumerate(entries):
        flat = [part for pair in entry for part in pair]
        target.client.execute_command("XADD", "s", f"{at + 1}-0", *flat)
    options = target.options(BATCH, streams="s")
    for schema in (ARCHIVED, TYPED[0], TYPED[3]):
        by_form = []
        for in_columns in (True, False):
            part = Part("s", target.whole("s"), Position(FIRST, 0))
            task = Task([part], in_columns)
            table = pa.Table.from_batches(read_task(schema, options, task))
            by_form.append(table.combine_chunks().to_batches()[0])
        assert repr(by_form[0].to_pylist()) == repr(by_form[1].to_pylist())
        assert exact.rebuilt(by_form[0]) == entries


@given(st.lists(st.binary(max_size=6) | st.text(max_size=4).map(str.encode)))
def test_text_is_what_python_can_decode(values: list[bytes]) -> None:
    def decodes(value: bytes) -> bool:
        try:
            return value.decode() is not None
        except UnicodeDecodeError:
            return False

    assert is_text(pa.array(values, pa.binary())).to_pylist() == [decodes(v) for v in values]


@given(
    st.lists(st.none() | st.sampled_from([b"", b"a", b"\x7f", "é".encode(), b"\xc3", b"\xa9"])),
    st.integers(0, 3),
)
def test_bytes_become_the_text_that_a_cast_makes_of_them(
    values: list[bytes | None], first: int
) -> None:
    """Also where two values that are not text would be text together."""
    some = pa.array(values, pa.binary())[first:]
    try:
        wanted = some.cast(pa.string())
    except pa.ArrowInvalid:
        with pytest.raises(pa.ArrowInvalid):
            decoded(some)
    else:
        assert decoded(some).equals(wanted)


def test_binary_values_are_null_in_the_map_and_exact_beside_it() -> None:
    rows = decode(ARCHIVED, [(b"n", b"1"), (b"avro", b"\xff\x00")], [(b"n", b"2")]).to_pylist()
    assert [row["fields"] for row in rows] == [[("n", "1"), ("avro", None)], [("n", "2")]]
    whole = [{"name": b"n", "value": None}, {"name": b"avro", "value": b"\xff\x00"}]
    assert [row["raw"] for row in rows] == [whole, None]


def test_other_engines_find_the_bytes_as_the_documentation_says(tmp_path: Path) -> None:
    entries = [[(b"avro", value)] for value in (b"\xff\x00", b"text \\")] + [[(b"n", b"1")]]
    deltalake.write_deltalake(tmp_path, pa.Table.from_batches([decode(ARCHIVED, *entries)]))
    examples = re.findall(r"```python\n(.*?)```", DOCUMENTED, re.DOTALL)
    made = {}
    for library in ("polars", "duckdb"):
        (example,) = (text for text in examples if f"import {library}" in text and "avro" in text)
        *before, last = ast.parse(example.replace("./lake", str(tmp_path))).body
        assert isinstance(last, ast.Expr)
        names: dict[str, Any] = {}
        exec(compile(ast.Module(before, []), library, "exec"), names)
        table = eval(compile(ast.Expression(last.value), library, "eval"), names)
        made[library] = table.rows() if library == "polars" else table.fetchall()
    wanted = [("0-0", b"\xff\x00"), ("1-0", b"text \\"), ("2-0", None)]
    assert {library: sorted(rows) for library, rows in made.items()} == dict.fromkeys(made, wanted)


def test_what_the_schema_lacks_or_cannot_read_is_kept_and_counted() -> None:
    mixed = [(b"amount", b"1.5 EUR"), (b"coupon", b"C1")]
    batch = decode(ORDERS, mixed, [(b"id", b"7"), (b"amount", b"2")], mixed)
    bad, good, _ = batch.to_pylist()
    assert (bad["id"], bad["amount"], bad["_raw"]) == (None, None, None)
    assert dict(bad["_rest"]) == {"amount": "1.5 EUR", "coupon": "C1"}
    assert (good["id"], good["amount"], good["_rest"], good["_raw"]) == (7, 2.0, None, None)
    assert exact.leftovers(batch) == Counter(amount=2, coupon=2)
    assert exact.leftovers(batch.slice(1, 1)) == Counter()
    assert exact.leftovers(batch.slice(2)) == Counter(amount=1, coupon=1)
    assert exact.leftovers(decode(ARCHIVED, mixed)) == Counter()


@given(st.lists(ENTRY, min_size=1, max_size=6), st.data())
def test_entries_that_are_told_whole_need_no_column(entries: list[Fields], data: Any) -> None:
    batch = decode(ORDERS, *entries)
    chosen = data.draw(st.lists(st.booleans(), min_size=len(entries), max_size=len(entries)))
    told = exact.told_whole(batch, pa.array(chosen), "iso")
    assert told.schema == batch.schema
    assert exact.rebuilt(told) == entries
    forgotten = told.filter(pa.array(chosen)).select(["_id", "_raw"])
    assert exact.rebuilt(forgotten) == [
        e for e, is_one in zip(entries, chosen, strict=True) if is_one
    ]


def test_another_order_of_fields_costs_names_only() -> None:
    entry = [(b"amount", b"1.5"), (b"id", b"7")]
    row = decode(ORDERS, entry).to_pylist()[0]
    assert row["_raw"] == [{"name": b"amount", "value": None}, {"name": b"id", "value": None}]
    assert row["_rest"] is None


def test_a_value_that_is_read_but_written_otherwise_keeps_its_bytes() -> None:
    row = decode(ORDERS, [(b"id", b"07"), (b"amount", b"1.50")]).to_pylist()[0]
    assert (row["id"], row["amount"], row["_rest"]) == (7, 1.5, None)
    assert [pair["value"] for pair in row["_raw"]] == [b"07", b"1.50"]


def test_rows_of_older_lakes_give_what_their_columns_say() -> None:
    entry = [(b"b", b"x"), (b"a", b"07")]
    assert exact.rebuilt(decode(PLAIN, entry)) == [entry]
    typed = struct(_id="string", a="integer", b="string", c="double")
    assert exact.rebuilt(decode(typed, entry)) == [[(b"a", b"7"), (b"b", b"x")]]


def test_trimming_is_refused_where_rows_would_be_left_out() -> None:
    refused = exact.refuses_loss(ORDERS, "DROPMALFORMED")
    assert refused is not None
    assert "Set mode to PERMISSIVE" in refused
    assert exact.refuses_loss(ORDERS, "PERMISSIVE") is None
    assert exact.refuses_loss(ORDERS, "FAILFAST") is None
    assert exact.refuses_loss(ARCHIVED, "DROPMALFORMED") is None
    assert "no column for what the others cannot hold" in str(exact.refuses_loss(PLAIN, "FAILFAST"))
