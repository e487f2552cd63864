"""Replay: order, pace, and continuing after a crash."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from forebay.cli.main import main
from forebay_spark.errors import OptionError, ServerError
from forebay_spark.options import WRITE
from forebay_spark.pipeline import config, replay
from forebay_spark.pipeline.replay import Entry, Pace, Replay, Writer, chunks
from forebay_spark.pipeline.replay import target as target_of
from forebay_spark.query.table import cold_table
from forebay_spark.servers.connect import Server
from spark.tests.support.cut_links import Cut, CutLink
from spark.tests.support.lakes import archive, run
from spark.tests.support.restarting import Restarted
from spark.tests.support.spark_streams import Target
from testkit.places import ROOT
from testkit.servers import free_port


class Time:
    """A clock that moves only when the job sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 3))
        self.now_s += seconds


def entries(*times_ms: int) -> Iterator[Entry]:
    return (Entry(f"{ms}-0", ms, ("n", "1")) for ms in times_ms)


def test_without_a_speed_chunks_are_full_and_nobody_waits() -> None:
    made = list(chunks(entries(*range(1201)), Pace(None)))
    assert [len(chunk) for chunk in made] == [500, 500, 201]


def test_at_ten_times_the_pace_a_second_takes_a_tenth() -> None:
    time = Time()
    pace = Pace(10, time.clock, time.sleep)
    made = [[entry.ms for entry in chunk] for chunk in chunks(entries(5, 5, 1005, 3005), pace)]
    assert made == [[5, 5], [1005], [3005]]
    assert time.slept == [0.1, 0.2]


def test_what_is_late_goes_out_at_once() -> None:
    time = Time()
    pace = Pace(1, time.clock, time.sleep)
    due = chunks(entries(0, 1000, 1500), pace)
    next(due)
    time.now_s += 5
    assert [entry.ms for entry in next(due)] == [1000, 1500]
    assert time.slept == []


def writer_of(target: Target, **more: Any) -> Writer:
    job = Replay(lake="/x", stream="s", to="again", url=target.url, **more)
    return Writer(Server(target.options(WRITE, stream="again"), patient=True), job)


def test_entries_and_position_change_together(target: Target) -> None:
    writer = writer_of(target)
    assert writer.position() is None
    writer.write(list(entries(1, 2, 3)))
    assert writer.position() == "3-0"
    assert target.client.xlen("again") == 3
    writer.finish()
    assert writer.position() is None


def test_ids_can_be_kept_in_an_empty_stream_only(target: Target) -> None:
    writer = writer_of(target, ids="keep")
    writer.write(list(entries(1, 2)))
    assert target.ids("again") == ["1-0", "2-0"]
    with pytest.raises(OptionError, match="cannot keep their IDs"):
        writer.write(list(entries(2, 3)))
    assert target.ids("again") == ["1-0", "2-0"]
    assert writer.position() == "2-0"


def test_a_key_that_is_no_stream_leaves_the_position_where_it_was(target: Target) -> None:
    writer = writer_of(target)
    writer.write(list(entries(1)))
    target.client.set("again", "text")
    with pytest.raises(ServerError, match=r"'again' at .* is not a stream"):
        writer.write(list(entries(2)))
    assert writer.position() == "1-0"


def test_kept_ids_are_given_up_if_somebody_else_writes_to_the_stream(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = writer_of(target, ids="keep")
    original = Writer._transaction

    def write_first(self: Writer, *args: Any) -> None:
        target.client.xadd("again", {"n": 1}, id="9-0")
        original(self, *args)

    monkeypatch.setattr(Writer, "_transaction", write_first)
    with pytest.raises(OptionError, match="cannot keep their IDs"):
        writer.write(list(entries(1, 10)))
    assert target.ids("again") == ["9-0"]
    assert writer.position() is None


@pytest.mark.parametrize("lose_reply", [False, True])
@pytest.mark.parametrize("use", range(1, 8))
def test_chunks_are_written_once_wherever_the_connection_breaks(
    target: Target, cut: Cut, use: int, lose_reply: bool
) -> None:
    writer = writer_of(target, ids="keep")
    cut(use, lose_reply)
    assert writer.position() is None
    for first in (1, 4, 7):
        writer.write(list(entries(first, first + 1, first + 2)))
    assert CutLink.left == 0
    assert target.ids("again") == [f"{ms}-0" for ms in range(1, 10)]
    assert writer.position() == "9-0"


def test_chunks_are_written_once_though_the_server_is_killed_in_between(
    restarted: Restarted, quick_patience: None
) -> None:
    writer = writer_of(restarted.target)
    writer.position()
    writer.write(list(entries(1, 2)))
    back = restarted.away()
    writer.write(list(entries(3, 4)))
    back.join()
    writer.write(list(entries(5)))
    assert restarted.target.client.xlen("again") == 5
    back = restarted.away()
    assert writer.position() == "5-0"
    back.join()


@pytest.mark.parametrize("restarted", ["redis"], indirect=True)
def test_a_server_that_is_a_replica_for_a_while_is_waited_for(
    restarted: Restarted, quick_patience: None, capsys: pytest.CaptureFixture[str]
) -> None:
    client, writer = restarted.target.client, writer_of(restarted.target)
    client.replicaof("127.0.0.1", free_port())
    promotion = threading.Timer(1.0, client.replicaof, ("NO", "ONE"))
    promotion.start()
    try:
        writer.write(list(entries(1, 2)))
    finally:
        promotion.join()
    assert client.xlen("again") == 2
    assert "read only replica" in capsys.readouterr().err


def test_a_position_that_a_failover_took_back_is_not_written_on(target: Target) -> None:
    writer = writer_of(target)
    writer.write(list(entries(1, 2)))
    target.client.set(writer.key, "1-0")
    with pytest.raises(OptionError, match=r"a failover has lost the last entries.*start this one"):
        writer.write(list(entries(3)))


def test_a_refusal_is_told_in_a_sentence(redis_target: Target) -> None:
    acl = redis_target.client
    acl.acl_setuser("u", enabled=True, nopass=True, keys=["*"], commands=["+@all", "-watch"])
    given = {"stream": "again", "user": "u", "password": "any"}
    writer = Writer(
        Server(redis_target.options(WRITE, **given)), Replay(lake="/x", stream="s", to="again")
    )
    try:
        with pytest.raises(ServerError, match=r"The server at .* answers: .*'watch'"):
            writer.write(list(entries(1)))
    finally:
        acl.acl_deluser("u")


def test_a_replay_says_how_long_it_waits(capfd: pytest.CaptureFixture[str]) -> None:
    given = {"job": "replay", "lake": "/x", "stream": "s", "to": "t", "retry_for": "2 hours"}
    job = config.from_mapping(given, "f.toml")
    assert isinstance(job, Replay)
    assert target_of(job.url, job.to, job.retry_for).retryFor == 7200
    with pytest.raises(OptionError, match="retryFor cannot be 'soon'"):
        config.from_mapping({**given, "retry_for": "soon"}, "f.toml")
    line = ["pipeline", "replay", "/x", "--stream", "s", "--to", "t", "--retry-for", "soon"]
    assert main(line) == 1
    assert "retryFor cannot be 'soon'" in capfd.readouterr().err


@pytest.mark.spark
@pytest.mark.parametrize("restarted", ["forebay"], indirect=True)
def test_a_replay_outlives_its_server(
    spark: Any,
    restarted: Restarted,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    quick_patience: None,
) -> None:
    target = restarted.target
    target.add("s", 20)
    run(spark, archive(target, tmp_path / "lake", "s"))
    monkeypatch.setattr(replay, "CHUNK_ENTRIES", 2)
    job = Replay(lake=str(tmp_path / "lake"), stream="s", to="again", url=target.url)

    def kill(total: int) -> None:
        if total in (4, 12, 20):
            restarted.away()

    assert job.run(spark, kill) == 20
    assert target.numbers("again") == list(range(20))
    assert not target.client.keys("forebay:replay:*")


@pytest.mark.spark
def test_a_stretch_of_the_lake_comes_back_in_order_and_a_crash_loses_nothing(
    spark: Any, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"{ms}-{seq}" for ms in (999, 1000, 2000, 10_000) for seq in range(3)]
    target.add_at("s", ids)
    run(spark, archive(target, tmp_path, "s", most=5))
    job = Replay(
        lake=str(tmp_path), stream="s", to="again", url=target.url, since="1000", until="10000"
    )
    monkeypatch.setattr(replay, "CHUNK_ENTRIES", 2)

    def crash(total: int) -> None:
        if total == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(spark, crash)
    assert target.numbers("again") == [3, 4, 5, 6]
    assert job.run(spark) == 2
    assert target.numbers("again") == [3, 4, 5, 6, 7, 8]
    assert job.run(spark) == 6
    with pytest.raises(OptionError, match=r"has no stream 'x'. It has: s"):
        Replay(lake=str(tmp_path), stream="x", to="again", url=target.url).run(spark)


DOCUMENTED = ROOT.joinpath("docs/pipelines.md").read_text(encoding="utf-8")
#: Entries that a stream can hold and a table cannot: bytes; repeated, empty or non-text names.
ODD = [
    (b"avro", b"\x00\xff\xfe"),
    (b"n", b"007"),
    (b"", b""),
    (b"\xff", b"x"),
    (b"tags", b'["a", "b"]'),
    (b"n", b"2"),
    (b"at", b"1769860800250"),
]


@pytest.mark.spark
@pytest.mark.parametrize("schema", [None, "n int, tags array<string>, at timestamp, avro binary"])
def test_archive_and_replay_change_nothing(
    spark: Any, redis_target: Target, tmp_path: Path, schema: str | None
) -> None:
    client = redis.Redis(port=redis_target.port)
    client.set_response_callback("XRANGE", lambda reply, **_: reply)  # a dictionary would forget
    for at, entry in enumerate((ODD, ODD[::-1], [(b"z", b"1"), (b"a", b"1")], [(b"n", b"x")])):
        flat = [part for pair in entry for part in pair]
        client.execute_command("XADD", "s", f"{at + 1}-{at}", *flat)
    options = {"timestampFormat": "epoch_ms"}
    run(spark, archive(redis_target, tmp_path, "s", schema=schema, options=options))
    Replay(lake=str(tmp_path), stream="s", to="again", url=redis_target.url, ids="keep").run(spark)
    before, after = (client.execute_command("XRANGE", key, "-", "+") for key in ("s", "again"))
    assert after == before
    if schema is None:
        sql = re.search(r"SELECT (id, coalesce.* AS avro) FROM", DOCUMENTED, re.DOTALL)
        assert sql is not None
        cold = cold_table(spark, "s", str(tmp_path)).where("id < '3'")
        rows = cold.selectExpr(*re.split(r",\s(?=coalesce)", sql[1])).collect()
        assert {row.avro for row in rows} == {b"\x00\xff\xfe"}
