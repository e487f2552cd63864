"""Dead letters back into their streams: once each, and byte for byte."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from forebay.cli.main import main
from forebay_spark.errors import OptionError
from forebay_spark.pipeline import redrive
from forebay_spark.pipeline.jobs import Quarantine, dead_letters
from forebay_spark.pipeline.redrive import Letter, Redrive, letter_of, with_function, with_values
from forebay_spark.pipeline.spec import Source, StreamSink
from spark.tests.support.restarting import Restarted
from spark.tests.support.spark_streams import Target
from testkit.servers import free_port

Printed = pytest.CaptureFixture[str]
DEAD = "race.dlq"
FIELDS = st.lists(st.tuples(st.binary(max_size=5), st.binary(max_size=5)), min_size=1, max_size=5)


def letter(target: Target, stream: str, fields: list[tuple[bytes, bytes]]) -> None:
    """A dead letter as a quarantine writes it."""
    told = {"source_stream": stream, "source_id": "1-1", "reason": "speed: not a number"}
    try:
        payload = {name.decode(): value.decode() for name, value in fields}
        is_exact = list(payload) == [name.decode() for name, _ in fields]
    except UnicodeDecodeError:
        payload, is_exact = {}, False
    told["payload"] = json.dumps(payload)
    if not is_exact:
        told["original"] = json.dumps([b64encode(p).decode() for pair in fields for p in pair])
    target.client.xadd(DEAD, told)


def entries(target: Target, stream: str) -> list[list[tuple[bytes, bytes]]]:
    """The entries of a stream with repeated names, which redis-py's dictionaries lose."""
    connection = target.client.connection_pool.get_connection()
    try:
        connection.send_command("XRANGE", stream, "-", "+")
        found = connection.read_response()
    finally:
        target.client.connection_pool.release(connection)
    return [list(zip(flat[0::2], flat[1::2], strict=True)) for _, flat in found]


def run(target: Target, **more: Any) -> redrive.Redriven:
    return Redrive(dead=DEAD, url=target.url, **more).run()


@given(FIELDS)
def test_a_letter_says_the_entry_to_the_byte(fields: list[tuple[bytes, bytes]]) -> None:
    written: list[bytes] = []

    class Client:
        def xadd(self, _: str, told: dict[str, str]) -> None:
            written.extend(part.encode() for pair in told.items() for part in pair)

    target: Any = type("Target", (), {"client": Client()})
    letter(target, "race", fields)
    assert letter_of([b"5-0", written]) == Letter("5-0", "race", "speed: not a number", fields)


def test_what_was_put_back_is_not_put_back_again(target: Target) -> None:
    odd = [(b"n", b"1"), (b"n", b"\xff\x00"), (b"", b"")]
    letter(target, "race", odd)
    letter(target, "race", [(b"a", b"1"), (b"b", "é".encode())])
    assert run(target).written == 2
    assert entries(target, "race") == [odd, [(b"a", b"1"), (b"b", "é".encode())]]
    again = run(target)
    assert (again.written, again.before) == (0, 2)
    letter(target, "race", odd)
    assert run(target, to="race").written == 1
    assert len(entries(target, "race")) == 3
    assert run(target, to="elsewhere").written == 3


def test_letters_of_many_streams_go_where_they_came_from(redis_target: Target) -> None:
    for at in range(1203):
        letter(redis_target, f"s{at % 2}", [(b"n", b"%d" % at)])
    assert run(redis_target).written == 1203
    assert redis_target.numbers("s0") == list(range(0, 1203, 2))
    assert redis_target.numbers("s1") == list(range(1, 1203, 2))


def test_a_redrive_that_was_killed_goes_on(
    redis_target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "CHUNK_ENTRIES", 2)
    for at in range(5):
        letter(redis_target, "s", [(b"n", b"%d" % at)])

    def killed(letter: Letter) -> Any:
        if letter.fields == [(b"n", b"3")]:
            raise KeyboardInterrupt
        return letter.fields

    with pytest.raises(KeyboardInterrupt):
        run(redis_target, mend=killed)
    assert redis_target.numbers("s") == [0, 1]
    assert run(redis_target).written == 3
    assert redis_target.numbers("s") == [0, 1, 2, 3, 4]


def test_of_two_at_once_one_stops(redis_target: Target) -> None:
    letter(redis_target, "s", [(b"n", b"1")])

    def meanwhile(letter: Letter) -> Any:
        run(redis_target)
        return letter.fields

    with pytest.raises(OptionError, match="at the same time"):
        run(redis_target, mend=meanwhile)
    assert redis_target.numbers("s") == [1]


def test_letters_are_put_back_once_though_the_server_is_killed_in_between(
    restarted: Restarted, quick_patience: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redrive, "CHUNK_ENTRIES", 2)
    for at in range(7):
        letter(restarted.target, f"s{at % 2}", [(b"n", b"%d" % at)])

    def killing(read: Letter) -> Any:
        if read.fields[0][1] in (b"2", b"5"):
            restarted.away()
        return read.fields

    assert run(restarted.target, mend=killing).written == 7
    assert restarted.target.numbers("s0") == [0, 2, 4, 6]
    assert restarted.target.numbers("s1") == [1, 3, 5]


def test_a_redrive_says_how_long_it_waits(quick_patience: None, capfd: Printed) -> None:
    nobody = f"redis://127.0.0.1:{free_port()}"
    line = ["pipeline", "redrive", "--from", DEAD, "--url", nobody, "--retry-for"]
    for time, told in (("1 second", "was away for 1 second"), ("soon", "cannot be 'soon'")):
        assert main([*line, time]) == 1
        assert told in capfd.readouterr().err.splitlines()[-1]


def test_letters_that_come_back_at_once_do_not_go_round(redis_target: Target) -> None:
    letter(redis_target, "s", [(b"n", b"1")])

    def sent_back(read: Letter) -> Any:
        letter(redis_target, "s", read.fields)
        return read.fields

    assert run(redis_target, mend=sent_back).written == 1


def double(fields: list[tuple[str, str]], reason: str) -> Any:
    """A function of a user."""
    known = dict(fields)
    if "drop" in known:
        return None
    return {**known, "n": str(2 * int(known["n"])), "was": reason}


def test_letters_are_mended_by_values_or_by_a_function(
    redis_target: Target, capfd: Printed
) -> None:
    for fields in ([(b"n", b"1"), (b"x", b"\xff")], [(b"drop", b"")], [(b"n", b"3")]):
        letter(redis_target, "s", fields)
    line = ["pipeline", "redrive", "--from", DEAD, "--url", redis_target.url]
    assert main([*line, "--set", "n=7", "--set", "y=a b", "--dry-run"]) == 0
    out = capfd.readouterr().out.splitlines()
    assert out[0].endswith(r'(speed: not a number) to s: n 7 x \xff y "a b"')
    assert out[-1] == f"3 dead letters of {DEAD} would be put back where they came from"
    assert redis_target.client.exists("s") == 0

    function = ["--function", "spark.tests.pipeline.test_redrive:double"]
    assert main([*line, *function]) == 0
    assert "2 dead letters of race.dlq put back where" in (out_ := capfd.readouterr().out)
    assert "1 skipped" in out_
    was = (b"was", b"speed: not a number")
    assert entries(redis_target, "s") == [
        [(b"n", b"2"), (b"x", b"\xff"), was], [(b"n", b"6"), was]
    ]  # fmt: skip
    assert main([*line, "--set", "n=7", "--to", "t"]) == 0
    assert entries(redis_target, "t")[1] == [(b"drop", b""), (b"n", b"7")]


def test_mistakes_of_a_redrive_are_one_sentence(redis_target: Target, capfd: Printed) -> None:
    redis_target.client.xadd("odd", {"a": "b"})
    letter(redis_target, "s", [(b"n", b"x")])
    letter(redis_target, DEAD, [(b"n", b"x")])
    function = "spark.tests.pipeline.test_redrive:double"
    for line, told in (
        (["--from", "none"], "There is no stream 'none'"),
        (["--from", "odd"], "is not a dead letter"),
        (["--from", DEAD, "--to", DEAD], "Change --to"),
        (["--from", DEAD], "does not say where it came from. Add --to"),
        (["--from", DEAD, "--function", "nowhere:f"], "cannot be found"),
        (["--from", DEAD, "--to", "t", "--function", function], "not put back twice"),
    ):
        assert main(["pipeline", "redrive", "--url", redis_target.url, *line]) == 1
        said = capfd.readouterr().err.splitlines()
        assert len(said) == 1 and told in said[0], said
    assert with_values({"a": "b"})(Letter("1-0", None, "", [])) == [(b"a", b"b")]
    with pytest.raises(OptionError, match="cannot be found"):
        with_function("x")


RAW = ArrayType(StructType([StructField(n, BinaryType()) for n in ("name", "value")]))
JUDGED = StructType(
    [
        *(StructField(name, StringType()) for name in ("_stream", "_id", "_reason")),
        StructField("_fields", MapType(StringType(), StringType())),
        StructField("_raw", RAW),
    ]
)


@pytest.mark.spark
def test_a_dead_letter_carries_what_json_cannot_say(spark: Any) -> None:
    raw = [(b"n", b"1"), (b"\xfe", b"2"), (b"n", None), (b"x", b"\xff")]
    rows = [
        ("race", "1-0", "why", {"n": "é", "x": None}, raw),
        ("race", "2-0", "why", {"n": "2"}, None),
        ("race", "3-0", None, {"n": "3"}, None),
    ]
    found = [row.asDict() for row in dead_letters(spark.createDataFrame(rows, JUDGED)).collect()]
    made = [
        letter_of([b"1-0", [p.encode() for pair in row.items() if pair[1] for p in pair]])
        for row in found
    ]
    assert [made.fields for made in made] == [
        [(b"n", b"1"), (b"\xfe", b"2"), (b"n", "é".encode()), (b"x", b"\xff")],
        [(b"n", b"2")],
    ]
    assert found[1]["original"] is None and json.loads(found[1]["payload"]) == {"n": "2"}


@pytest.mark.spark
def test_from_a_quarantine_and_back_an_entry_stays_what_it_was(
    spark: Any, target: Target, tmp_path: Path
) -> None:
    odd = [b"speed", b"\xff\x00", b"n", b"1", b"n", b"2"]
    connection = target.client.connection_pool.get_connection()
    connection.send_command("XADD", "race", "*", *odd)
    connection.read_response()
    target.client.connection_pool.release(connection)
    target.client.xadd("race", {"speed": "fast", "n": 3})
    job = Quarantine(
        source=Source(streams=("race",), url=target.url, schema="speed double, n int"),
        dead_letter=StreamSink(DEAD, url=target.url),
        checkpoint=str(tmp_path),
    )
    job.start(spark).wait()
    before = entries(target, "race")
    assert run(target, to="again").written == 2
    assert entries(target, "again") == before
