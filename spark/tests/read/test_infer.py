"""Schemas proposed from entries: the reader accepts them, and nothing is lost."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from forebay.cli.main import main
from forebay_spark.read.decode import Decoder
from forebay_spark.read.infer import ddl, infer_schema, types_of, wider
from forebay_spark.read.pages import EntryPage
from spark.tests.support.spark_streams import Target, batch_options, rows_of

Printed = pytest.CaptureFixture[str]

INT, LONG, DOUBLE, STRING = IntegerType(), LongType(), DoubleType(), StringType()
BOOLEAN, DATE, TIME, BINARY = BooleanType(), DateType(), TimestampType(), BinaryType()


def record(**members: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in members.items()])


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ("true False", BOOLEAN),
        ("1 0 -7", INT),
        ("1 2147483648", LONG),
        ("1 9223372036854775808", DecimalType(19, 0)),
        ("9" * 39, STRING),
        ("1 2.5 1e3", DOUBLE),
        ("1.5 nan", DOUBLE),
        ("0.1 123456789012345678.91", DecimalType(20, 2)),
        ("2147483648 0.5", DecimalType(11, 1)),
        ("2147483648 1e99", STRING),
        ("007 12", STRING),
        ("+1", STRING),
        ("0x1F", STRING),
        ("1 N/A", STRING),
        ("2026-01-31 2024-02-29", DATE),
        ("2026-01-31 2026-01-31T12:00:00Z", TIME),
        ("2026-02-30", STRING),
        ('{"a":1} {"a":2147483648,"b":[]}', record(a=LONG, b=ArrayType(STRING))),
        ('{"a":null} {"a":[1,2.5]}', record(a=ArrayType(DOUBLE))),
        ('{"a":1} {"a":{"b":"x"}}', record(a=STRING)),
        ('[1,null] [{"a":true}]', ArrayType(STRING)),
        ('{"at":"2026-01-31T12:00:00Z","n":"7"}', record(at=TIME, n=STRING)),
        ("{} {}", STRING),
        ('{"a":1} x', STRING),
        ("", STRING),
    ],
)
def test_the_narrowest_type_that_loses_nothing_is_proposed(found: str, kind: DataType) -> None:
    assert types_of([text.encode() for text in found.split(" ")]) == kind


def test_bytes_that_are_no_text_are_binary_and_no_values_are_a_string() -> None:
    assert types_of([b"1", b"\xff"]) == BINARY
    assert types_of([]) == STRING


def test_an_object_with_hundreds_of_names_is_a_map() -> None:
    found = [json.dumps({f"user-{at}": at / 2}).encode() for at in range(200)]
    assert ddl(types_of(found)) == "map<string, double>"


odd = st.one_of(
    st.integers().map(str),
    st.floats().map(repr),
    st.decimals(allow_nan=False).map(str),
    st.booleans().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.dates().map(str),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        ),
        max_leaves=6,
    ).map(json.dumps),
    st.text(max_size=5).filter(lambda text: text.isprintable()),
).map(str.encode)
entries = st.lists(
    st.dictionaries(
        st.sampled_from([b"a", b"A", b"b", b"_id", b"\xff"]), odd | st.binary(max_size=3)
    ),
    max_size=6,
)


@settings(max_examples=80)
@given(entries)
def test_the_reader_takes_every_value_of_the_sample_and_keeps_its_digits(
    sample: list[dict[bytes, bytes]],
) -> None:
    proposal = infer_schema([list(entry.items()) for entry in sample])
    assert proposal.entries == len(sample)
    flat = [
        [b"%d-0" % (1 + at), [x for pair in e.items() for x in pair]] for at, e in enumerate(sample)
    ]
    if not (sample and len(proposal.schema)):
        return
    decoder = Decoder(proposal.schema, batch_options(mode="FAILFAST"))
    for entry, row in zip(sample, rows_of([decoder.batch("s", EntryPage(flat))]), strict=True):
        for name, value in row.items():
            raw = entry.get(name.encode())
            if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
                assert raw is not None
                assert repr(Decimal(raw.decode()).normalize()) == repr(
                    Decimal(repr(value) if isinstance(value, float) else value).normalize()
                )


def test_what_was_seen_is_told_with_what_stands_in_the_way() -> None:
    good = [(b"n", b"1"), (b"N", b"2"), (b"_id", b"x"), (b"\xff", b"y"), (b"two words", b"")]
    sample = [good, [(b"n", b"2")], [(b"n", b"none")]]
    proposal = infer_schema(sample)
    assert proposal.ddl == "n string, `two words` string"
    assert [line.split(maxsplit=3) for line in proposal.table().splitlines()[:5]] == [
        ["field", "type", "in", "3  remark"],
        ["n", "string", "3", "int in 2"],
        ["N", "-", "1", "differs from n by letter case alone"],
        ["_id", "-", "1", "the name describes the entry itself"],
        ["\\xff", "-", "1", "the name is not UTF-8"],
    ]
    assert proposal.table().splitlines()[5].endswith("1  empty in 1")


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (INT, LONG, LONG),
        (INT, DOUBLE, DOUBLE),
        (LONG, DOUBLE, STRING),
        (ShortType(), INT, INT),
        (ShortType(), FloatType(), FloatType()),
        (INT, FloatType(), STRING),
        (FloatType(), DOUBLE, DOUBLE),
        (ShortType(), DecimalType(4, 2), DecimalType(7, 2)),
        (DecimalType(10, 2), INT, DecimalType(12, 2)),
        (DecimalType(38, 0), DecimalType(10, 2), STRING),
        (DATE, TIME, TIME),
        (BOOLEAN, INT, STRING),
        (STRING, BINARY, BINARY),
        (INT, BINARY, None),
        (INT, record(a=INT), None),
        (ArrayType(INT), ArrayType(LONG), ArrayType(LONG)),
        (ArrayType(INT), record(a=INT), None),
        (record(a=INT), record(a=LONG, b=STRING), record(a=LONG, b=STRING)),
        (record(a=INT), record(a=record(b=INT)), None),
    ],
)
def test_two_types_become_the_narrowest_that_holds_both(
    one: DataType, other: DataType, both: DataType | None
) -> None:
    assert wider(one, other) == both
    assert wider(one, one) == one
    if not isinstance(both, StructType):
        assert wider(other, one) == both


def test_a_stream_that_has_nothing_is_one_sentence(redis_target: Target, capsys: Printed) -> None:
    asked = ["pipeline", "infer", "--url", redis_target.url, "--stream", "s"]
    assert main(asked) != 0
    assert "'s' at" in capsys.readouterr().err
    assert main([*asked, "--last", "0"]) != 0
    assert "--last 0 asks for no entries" in capsys.readouterr().err


@pytest.mark.spark
def test_spark_reads_the_proposed_schema(spark: Any, target: Target, capsys: Printed) -> None:
    names = {"two words": 1, "tick`s": "x", "order": '{"a b": 1, "select": [2.5]}', "n": 5}
    target.client.xadd("s", dict(names))
    target.client.xadd("s", {"n": 2**40})
    assert main(["pipeline", "infer", "--url", target.url, "--stream", "s", "--last", "5"]) == 0
    printed = capsys.readouterr()
    assert printed.out == (
        "n bigint, `two words` int, `tick``s` string, "
        "order struct<`a b`: int, select: array<double>>\n"
    )
    assert "in 2" in printed.err
    rows = (
        spark.read.format("forebay")
        .schema(printed.out)
        .options(url=target.url, streams="s", mode="FAILFAST")
    )
    assert rows.load().selectExpr(
        "sum(n)", "max(order.`a b`)", "max(order.select[0])"
    ).collect() == [(2**40 + 5, 1, 2.5)]
