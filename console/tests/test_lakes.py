"""The console follows an entry into lakes that the pipeline's code has written, on both servers."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import LongType, StructField, StructType

from console.tests.conftest import Scene
from console.tests.support.axe import check
from console.tests.support.lakes import Archived
from console.tests.support.stage import Stage
from forebay_console.views import lakes

START_MS = 1794892800000


def add(scene: Scene, stream: str, *seconds: int) -> None:
    for second in seconds:
        scene.client.xadd(stream, {"n": second}, id=f"{START_MS + second * 1000}-0")


def lakes_of(scene: Scene, second: int, stream: str = "orders") -> Any:
    path = f"/streams/{stream}/entries/{START_MS + second * 1000}-0/way"
    return scene.asker.get(path)["lakes"]


@pytest.fixture
def archived(scene: Scene, tmp_path: Path) -> Archived:
    """A lake with two files of a stream: of its first three entries, and of two more."""
    add(scene, "orders", 0, 1, 2)
    archived = Archived(scene.client, tmp_path / "my lake", "orders")
    archived.run()
    add(scene, "orders", 10, 11)
    archived.run()
    archived.tell()
    return archived


def test_an_entry_is_found_in_the_file_that_has_it(scene: Scene, archived: Archived) -> None:
    early, late = (lakes_of(scene, second)[0] for second in (1, 10))
    for one in (early, late):
        assert (one["path"], one["by"], one["state"]) == (archived.lake.root, "table", "archived")
        assert one["cut"] == f"{START_MS + 11000}-0" and one["why"] is None
        (file,) = one["files"]
        assert file.startswith("stream=orders/date=2026-11-17/part-")
        assert (Path(archived.lake.root) / file).is_file()
    assert early["files"] != late["files"]


def test_an_entry_after_the_cut_is_not_archived_yet(scene: Scene, archived: Archived) -> None:
    add(scene, "orders", 20)
    (one,) = lakes_of(scene, 20)
    assert (one["by"], one["state"], one["files"]) == ("table", "not_yet", [])
    archived.run()  # the console needs no new report
    (one,) = lakes_of(scene, 20)
    assert one["state"] == "archived"


def test_an_entry_that_was_trimmed_is_still_followed(scene: Scene, archived: Archived) -> None:
    scene.client.xtrim("orders", maxlen=0)
    found = scene.asker.get(f"/streams/orders/entries/{START_MS}-0/way")
    assert found["is_there"] is False and found["lakes"][0]["state"] == "archived"
    status, _ = scene.asker.ask("GET", f"/streams/orders/entries/{START_MS + 5000}-0/way")
    assert status == 404


def test_an_entry_that_the_job_did_not_get_is_not_called_archived(
    scene: Scene, tmp_path: Path
) -> None:
    add(scene, "orders", 0, 1, 2)
    scene.client.xgroup_create("orders", "billing", "0")
    scene.client.xreadgroup("billing", "ann", {"orders": ">"})
    scene.client.xdel("orders", f"{START_MS + 1000}-0")
    archived = Archived(scene.client, tmp_path, "orders")
    archived.run()
    archived.tell()
    found = [lakes_of(scene, second)[0] for second in (0, 1, 2)]
    assert [one["state"] for one in found] == ["archived", "left_out", "archived"]
    assert found[1]["files"] == []


def test_a_lake_with_typed_columns_is_looked_into(scene: Scene, tmp_path: Path) -> None:
    add(scene, "orders", 0)
    columns = StructType([StructField("n", LongType())])
    archived = Archived(scene.client, tmp_path, "orders", columns)
    archived.run()
    archived.tell()
    (one,) = lakes_of(scene, 0)
    assert (one["by"], one["state"]) == ("table", "archived")
    assert one["files"][0].startswith("_stream=orders/_date=2026-11-17/")


def test_names_with_quotes_are_found(scene: Scene, tmp_path: Path) -> None:
    add(scene, "it's", 0)
    archived = Archived(scene.client, tmp_path, "it's")
    archived.run()
    archived.tell()
    (one,) = lakes_of(scene, 0, "it%27s")
    assert one["state"] == "archived" and (tmp_path / one["files"][0]).is_file()


def test_a_lake_of_other_streams_is_not_shown(scene: Scene, archived: Archived) -> None:
    add(scene, "teas", 0)
    assert lakes_of(scene, 0, "teas") == []
    archived.tell(cuts="")
    assert lakes_of(scene, 0, "teas") == [], "the table says it too"


@pytest.mark.parametrize("path", ["s3://bucket/lake", "/nowhere/lake", "lake", "/" + "x" * 5000])
def test_a_lake_elsewhere_is_known_by_what_its_job_told(
    scene: Scene, archived: Archived, path: str
) -> None:
    add(scene, "orders", 20)
    scene.client.delete("forebay:pipelines")
    archived.tell(lake=path)
    states = []
    for second in (11, 20):
        (one,) = lakes_of(scene, second)
        assert (one["path"], one["by"], one["files"]) == (path, "report", [])
        states.append(one["state"])
    assert states == ["archived", "not_yet"]
    archived.tell(lake=path, cuts="")
    (one,) = lakes_of(scene, 11)
    assert (one["state"], one["cut"]) == ("unknown", None)
    assert one["why"].startswith("it is not a folder on the console's machine, and its job")


def test_a_lake_of_very_many_files_is_not_opened(scene: Scene, archived: Archived) -> None:
    archived.tell(files="20001")
    (one,) = lakes_of(scene, 1)
    assert (one["by"], one["state"], one["files"]) == ("report", "archived", [])


def test_the_lakes_that_were_told_of_last_are_looked_into(scene: Scene, archived: Archived) -> None:
    for number in range(lakes.MOST_LAKES + 1):
        archived.tell(lake=f"s3://bucket/{number}")
    found = [one["path"] for one in lakes_of(scene, 1)]
    assert sorted(found) == [f"s3://bucket/{n + 1}" for n in range(lakes.MOST_LAKES)]


def test_without_deltalake_a_lake_is_known_by_what_its_job_told(
    archived: Archived, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deltalake", None)
    lake = lakes.Lake(archived.lake.root, 0, 2.0, None)
    found = lakes.place(lake, "orders", f"{START_MS}-0")
    assert found is not None and found["state"] == "unknown"
    assert found["why"].startswith("deltalake is not installed with the console, and its job")


def test_an_entry_past_all_times_is_archived_all_the_same(scene: Scene, archived: Archived) -> None:
    far = f"{2**64 - 1}-7"
    scene.client.xadd("orders", {"n": 1}, id=far)
    archived.run()
    (one,) = scene.asker.get(f"/streams/orders/entries/{far}/way")["lakes"]
    assert (one["by"], one["state"], one["cut"]) == ("table", "archived", far)


def test_a_lake_that_is_damaged_is_known_by_what_its_job_told(
    scene: Scene, archived: Archived
) -> None:
    (one,) = lakes_of(scene, 1)
    (Path(archived.lake.root) / one["files"][0]).write_bytes(b"no Parquet")
    (one,) = lakes_of(scene, 1)
    assert (one["by"], one["state"]) == ("report", "archived")
    archived.tell(cuts=json.dumps({"orders": "soon", "teas": 7}))
    assert lakes_of(scene, 1) == [], "a report that makes no sense says nothing of the stream"
    archived.tell(cuts="[")
    (one,) = lakes_of(scene, 1)
    assert one["why"].startswith("it cannot be read")


def test_the_page_says_in_which_file_an_entry_is(stage: Stage, tmp_path: Path) -> None:
    page = stage.page
    stage.client.xadd("crates", {"n": 1}, id=f"{START_MS}-0")
    archived = Archived(stage.client, tmp_path, "crates")
    archived.run()
    stage.client.xadd("crates", {"n": 2}, id=f"{START_MS + 1000}-0")
    reports = [archived.tell(), archived.tell(lake="s3://bucket/lake", cuts="")]
    stage.known("crates")
    page.go("#/stream/crates")
    page.click("button.link", f"{START_MS + 1000}-0")
    page.see("In lakes", str(tmp_path), "not archived yet", "up to 2026-11-17 05:20:00.000")
    page.click("button.link", f"{START_MS}-0")
    page.see("archived, in", "stream=crates/date=2026-11-17/part-")
    page.see("s3://bucket/lake", "unknown: it is not a folder on the console's machine")
    check(page)
    stage.client.xdel("forebay:pipelines", *reports)
