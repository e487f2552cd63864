"""A lake as a Delta table: its commits, their content, and other programs that read them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StringType, StructField, StructType

from forebay_spark.ids import WORD_MAX, EntryId
from forebay_spark.lake import lake as lake_module
from forebay_spark.lake import old, stores, transactions, upkeep
from forebay_spark.lake.changes import Change, NewFile
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import Lake, Snapshot
from forebay_spark.lake.parquet import PartitionedFiles
from forebay_spark.lake.source import commit_batch
from forebay_spark.lake.stores import place_of
from forebay_spark.lake.transactions import Cut, cuts_in, of_batch, of_cuts, read_all
from forebay_spark.lake.upkeep import compact
from spark.tests.support.lakes import NUMBERS, contested, make_lake

HALF = st.integers(0, WORD_MAX)


def files_of(lake: Lake, *numbers: int, stream: str = "s") -> list[NewFile]:
    """A file with some rows, safe on disk."""
    files = PartitionedFiles(lake.place, lake.snapshot().about.partitions)
    files.add(pa.record_batch({"stream": [stream] * len(numbers), "n": list(numbers)}))
    return files.finish()


def add(lake: Lake, *numbers: int, stream: str = "s") -> Snapshot:
    files = files_of(lake, *numbers, stream=stream)
    return lake.commit(lambda _: Change(files))


def numbers_by(reader: str, folder: Path) -> list[int]:
    """The column n as another program reads it."""
    table = DeltaTable(str(folder))
    if reader == "polars":
        return sorted(polars.read_delta(str(folder))["n"].to_list())
    if reader == "duckdb":
        rows = duckdb.from_arrow(table.to_pyarrow_dataset())
        return sorted(row[0] for row in rows.select("n").fetchall())
    return sorted(table.to_pyarrow_table()["n"].to_pylist())


@given(st.dictionaries(st.text(), st.builds(Cut, st.builds(EntryId, HALF, HALF), st.none() | HALF)))
def test_every_cut_comes_back_from_the_transactions_that_say_it(cuts: dict[str, Cut]) -> None:
    held = {
        stream: cut if cut.n is None else cut._replace(n=cut.n >> 1) for stream, cut in cuts.items()
    }
    said = {t.app_id: t.version for t in of_cuts(held)}
    assert all(-(1 << 63) <= version < 1 << 63 for version in said.values())
    assert cuts_in(said) == held


def test_all_transactions_are_what_the_library_says_of_each_at_every_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lake_module, "CHECKPOINT_EVERY", 5)
    lake = make_lake(tmp_path)
    for number in range(23):
        said = of_batch(f"q{number % 3}", number)
        lake.commit(lambda _, said=said: Change((), said))  # type: ignore[misc]
    assert list((tmp_path / stores.LOG).glob("*checkpoint*.parquet"))
    for version in (1, 4, 5, 6, 22, 23):
        table = DeltaTable(str(tmp_path), version=version)
        found = read_all(lake.place, version)
        names = {f"{transactions.BATCH}:q{i}" for i in range(3)}
        told = {name: table.transaction_version(name) for name in names}
        assert found == {name: number for name, number in told.items() if number is not None}


def test_of_two_that_move_the_same_cut_one_is_asked_again(tmp_path: Path) -> None:
    lake, other = make_lake(tmp_path), Lake(str(tmp_path))
    add(lake, 1)
    assert contested(lake, other) == [-1, 7]
    assert lake.snapshot().batch_of("q") == 7


def test_writers_that_do_not_know_each_other_all_get_their_rows_in(tmp_path: Path) -> None:
    make_lake(tmp_path)
    together = Barrier(4)

    def write(number: int) -> None:
        lake = Lake(str(tmp_path))
        together.wait(30)
        for batch in range(5):
            commit_batch(lake, files_of(lake, number * 10 + batch), f"q{number}", batch)
            commit_batch(lake, files_of(lake, 999), f"q{number}", batch)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    wanted = sorted(number * 10 + batch for number in range(4) for batch in range(5))
    assert numbers_by("deltalake", tmp_path) == wanted
    # The files of the second attempt are not on disk either.
    assert len(list(tmp_path.rglob("*.parquet"))) == 20


@pytest.mark.parametrize("reader", ["deltalake", "polars", "duckdb"])
def test_others_count_the_same_before_and_after_compaction(tmp_path: Path, reader: str) -> None:
    lake = make_lake(tmp_path)
    for number in range(6):
        add(lake, number, number + 100, stream="a b:c/%é" if number % 2 else "plain")
    wanted = sorted([*range(6), *range(100, 106)])
    assert numbers_by(reader, tmp_path) == wanted
    assert compact(lake, keep_ms=0).files_after == 2
    assert numbers_by(reader, tmp_path) == wanted
    streams = DeltaTable(str(tmp_path)).to_pyarrow_table(columns=["stream"])["stream"]
    assert set(streams.to_pylist()) == {"a b:c/%é", "plain"}


def test_readers_find_the_same_count_while_others_write_compact_and_vacuum(tmp_path: Path) -> None:
    """Each commit adds ten rows, so every count is a multiple of ten, and none is lower."""
    lake = make_lake(tmp_path)
    done = Barrier(2)

    def write() -> None:
        for batch in range(30):
            commit_batch(lake, files_of(lake, *range(10)), "q", batch)
            if batch % 10 == 9:
                compact(Lake(str(tmp_path)), keep_ms=upkeep.WEEK_MS)
        done.wait(60)

    counts = [0]
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done() and done.n_waiting == 0:
            counts.append(len(numbers_by("polars", tmp_path)))
        done.wait(60)
        writing.result()
    assert counts == sorted(counts) and all(count % 10 == 0 for count in counts)
    assert {len(numbers_by(name, tmp_path)) for name in ("deltalake", "polars", "duckdb")} == {300}


def test_a_commit_that_lost_its_bytes_with_the_power_is_set_aside(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    add(lake, 1)
    newest = tmp_path / stores.LOG / f"{lake.snapshot().version + 1:020}.json"
    for torn in (b"", b'{"commitInfo":{"timestamp":1', bytes(100)):
        newest.write_bytes(torn)
        lake = make_lake(tmp_path)
        assert not newest.exists()
        assert numbers_by("deltalake", tmp_path) == [1]
    add(lake, 2)
    assert numbers_by("deltalake", tmp_path) == [1, 2]


def test_everything_is_on_disk_before_a_commit_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files before the commit that names them, the commit before ``commit`` returns."""
    lake = make_lake(tmp_path)
    order: list[str] = []

    def noted(name: str, original: Callable[..., object]) -> Callable[..., object]:
        def note(*args: object) -> object:
            order.append(name)
            return original(*args)

        return note

    monkeypatch.setattr(os, "fsync", noted("file", os.fsync))
    files = files_of(lake, 1)
    assert order == ["file"]
    monkeypatch.setattr(stores, "sync_folders", noted("folders", stores.sync_folders))
    monkeypatch.setattr(stores, "sync_commit", noted("commit", stores.sync_commit))
    lake.commit(lambda _: Change(files))
    kinds = [name for name in order if name != "file"]
    assert kinds == ["folders", "commit"]


def test_versions_and_moments_of_before_can_be_read(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    first = add(lake, 1).version
    between = datetime.now(UTC)
    add(lake, 2)
    rows = [file.rows for file in lake.snapshot(version=first).files]
    assert rows == [1]
    assert lake.snapshot(as_of=between).version == first
    assert len(lake.snapshot().files) == 2
    with pytest.raises(LakeError, match="has no version 99"):
        lake.snapshot(version=99)


def test_a_snapshot_stays_what_it_was_while_the_table_goes_on(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    before = add(lake, 1)
    add(lake, 2)
    assert len(before.files) == 1 and len(lake.snapshot().files) == 2


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.touch(), "is a file"),
        (lambda path: (path / "x").mkdir(parents=True), "not empty and is not a Delta table"),
        (lambda path: (path / "_log").mkdir(parents=True), "forebay lake upgrade"),
        (lambda path: None, "There is no lake at"),
    ],
    ids=["a file", "a folder of others", "the format before", "nothing"],
)
def test_what_is_no_lake_is_one_sentence(
    tmp_path: Path, make: Callable[[Path], object], told: str
) -> None:
    path = tmp_path / "lake"
    make(path)
    with pytest.raises(LakeError, match=told):
        Lake(str(path)).snapshot()
    if path.exists():
        with pytest.raises(LakeError, match=told):
            Lake(str(path)).create(NUMBERS)


def test_a_table_of_a_newer_protocol_is_one_sentence(tmp_path: Path) -> None:
    make_lake(tmp_path)
    commit = tmp_path / stores.LOG / f"{1:020}.json"
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    commit.write_text(json.dumps({"protocol": {**protocol, **features}}) + "\n")
    with pytest.raises(LakeError, match="deletionVectors, which cannot be read here"):
        Lake(str(tmp_path)).snapshot()
    protocol = {"minReaderVersion": 99, "minWriterVersion": 99}
    commit.write_text(json.dumps({"protocol": protocol}) + "\n")
    with pytest.raises(LakeError, match=r"lake|table"):
        Lake(str(tmp_path)).snapshot()


def test_a_table_that_another_tool_made_or_changed_is_not_filled(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"x": [1]}))
    with pytest.raises(LakeError, match="was made with other settings: columns: x bigint"):
        Lake(str(tmp_path)).create(NUMBERS)
    assert len(Lake(str(tmp_path)).snapshot().files) == 1


def test_a_store_that_cannot_be_reached_is_one_sentence() -> None:
    options = {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_REGION": "us-east-1",
        "max_retries": "0",
    }
    with pytest.raises(LakeError, match=r"^The lake s3://bucket/lake cannot be used"):
        Lake("s3://bucket/lake", options).snapshot()


def test_a_local_path_and_its_url_are_the_same_place(tmp_path: Path) -> None:
    assert place_of(f"file://{tmp_path}") == place_of(str(tmp_path))
    assert not place_of("s3://bucket/lake/").is_local


def old_lake(folder: Path) -> None:
    """A lake in the earlier format: two live files, one replaced; a cut and a batch."""
    for name in "abc":
        path = folder / f"data/commit=x/stream=s%3At/date=2026-01-01/{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = {"id": [f"{name}-0"], "timestamp": pa.array([5], pa.timestamp("us", "UTC"))}
        pq.write_table(pa.table(rows), path)
    columns = [StructField("id", StringType()), StructField("stream", StringType())]
    about = {
        "format": "parquet",
        "columns": StructType(columns).json(),
        "partitions": ["stream"],
    }

    def file(name: str) -> dict[str, object]:
        path = f"data/commit=x/stream=s%3At/date=2026-01-01/{name}.parquet"
        return {"path": path, "bytes": (folder / path).stat().st_size}

    steps: list[dict[str, object]] = [
        {"kind": "create", "at_ms": 1, "about": about},
        {"kind": "append", "at_ms": 2, "add": [file("a"), file("b")], "cuts": {"s:t": ["5-0", 2]}},
        {"kind": "compact", "at_ms": 3, "remove": [file("a")["path"]], "add": [file("c")]},
        {"kind": "append", "at_ms": 4, "cuts": {"s:t": ["7-1", 3]}, "batches": {"q": 4}},
    ]
    (folder / "_log").mkdir()
    for version, step in enumerate(steps):
        (folder / "_log" / f"{version:020}.json").write_text(json.dumps(step))


def test_a_lake_of_the_format_before_is_taken_over_without_a_copy(tmp_path: Path) -> None:
    old_lake(tmp_path)
    before = {path: path.stat().st_ino for path in tmp_path.rglob("*.parquet")}
    snapshot = old.upgrade(str(tmp_path)).snapshot()
    assert snapshot.cuts == {"s:t": Cut(EntryId(7, 1), 3)}
    assert snapshot.batch_of("q") == 4
    found = DeltaTable(str(tmp_path)).to_pyarrow_table()
    assert sorted(found["id"].to_pylist()) == ["b-0", "c-0"]
    assert set(found["stream"].to_pylist()) == {"s:t"}
    assert {path: path.stat().st_ino for path in before} == before
    with pytest.raises(LakeError, match="no lake of the earlier format"):
        old.upgrade(str(tmp_path))


def test_a_damaged_log_of_the_format_before_changes_nothing(tmp_path: Path) -> None:
    old_lake(tmp_path)
    (tmp_path / "_log" / f"{2:020}.json").write_text('{"kind": "comp')
    with pytest.raises(LakeError, match="is damaged"):
        old.upgrade(str(tmp_path))
    assert not (tmp_path / stores.LOG).exists()
