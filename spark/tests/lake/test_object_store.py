"""A lake in an object store: the same jobs, through the library's own access to it.

The store is moto's server, which speaks S3 and has conditional writes, as S3 does.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from forebay_spark.lake import lake as lake_module
from forebay_spark.lake.changes import Change
from forebay_spark.lake.frames import frame_of
from forebay_spark.lake.lake import Lake
from forebay_spark.lake.transactions import of_batch
from forebay_spark.lake.upkeep import compact
from forebay_spark.pipeline.archive import Archive, Trim
from forebay_spark.pipeline.spec import Source
from forebay_spark.query.table import table
from spark.tests.support.lakes import NUMBERS, contested, ids_of, run, same
from spark.tests.support.spark_streams import Target
from testkit.servers import free_port
from testkit.waiting import wait_until

ROOT = "s3://lakes/orders"


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    """A store with one bucket; returns the credentials by delta-rs's names."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until("the store listens", lambda: _listens(port), 60)
        address = f"http://127.0.0.1:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{address}/lakes", method="PUT"))
        yield {
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.spark
def test_streams_are_archived_to_a_store_read_back_and_compacted(
    spark: Any, redis_target: Target, tmp_path: Path, store: dict[str, str]
) -> None:
    wanted = redis_target.add("orders é", 40)
    job = Archive(
        source=Source(
            url=redis_target.url, streams=("orders é",), options={"maxEntriesPerTrigger": "15"}
        ),
        lake=ROOT,
        lake_options=store,
        trim=Trim(),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    run(spark, job)
    assert redis_target.ids("orders é") == []
    wanted += redis_target.add("orders é", 5)
    lake = Lake(ROOT, store)
    same(ids_of(table(spark, "orders é", lake=lake, url=redis_target.url)), wanted)
    run(spark, job)
    assert compact(lake, keep_ms=0).files_after == 1
    same(ids_of(frame_of(spark, lake.snapshot())), wanted)
    others = DeltaTable(ROOT, storage_options=store).to_pyarrow_table()["id"].to_pylist()
    same(others, wanted)


@pytest.mark.spark
def test_of_two_writers_to_a_store_one_is_asked_again(store: dict[str, str], spark: Any) -> None:
    lake, other = Lake("s3://lakes/race", store), Lake("s3://lakes/race", store)
    lake.create(NUMBERS)
    assert contested(lake, other) == [-1, 7]


@pytest.mark.spark
def test_the_table_of_a_store_is_opened_anew_from_each_checkpoint(
    store: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each commit that a table has followed since it was opened makes the next one slower."""
    monkeypatch.setattr(lake_module, "CHECKPOINT_EVERY", 5)
    lake, reader = (Lake("s3://lakes/followed", store) for _ in range(2))
    lake.create(NUMBERS)
    tables = {id(lake.snapshot().table): lake.snapshot().table}
    for batch in range(20):
        lake.commit(lambda _, batch=batch: Change((), of_batch("q", batch)))  # type: ignore[misc]
        tables |= {id(each.snapshot().table): each.snapshot().table for each in (lake, reader)}
        assert reader.snapshot().batch_of("q") == batch
    assert len(tables) == 2 * 4
