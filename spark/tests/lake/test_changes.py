"""Commits that are written here are like the library's own: other readers see no difference."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Transaction, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StructField

from forebay_spark.lake import lake as lake_module
from forebay_spark.lake import log, stores
from forebay_spark.lake.changes import ENGINE, Change, NewFile, commit_file
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.lake import Lake, Snapshot, opened
from forebay_spark.lake.transactions import of_batch
from spark.tests.support.lakes import NUMBERS, make_lake

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1)
PATH = st.lists(NAME.filter(lambda name: set(name) != {"."}), min_size=1, max_size=3).map("/".join)
SIGNED = st.integers(-(1 << 63), (1 << 63) - 1)
FILES = st.builds(
    NewFile,
    path=PATH,
    size_bytes=st.integers(0, (1 << 63) - 1),
    rows=st.just(1),
    values=st.fixed_dictionaries({"stream": st.none() | TEXT}),
    stats=st.just('{"numRecords": 1}') | TEXT.map(lambda text: json.dumps({"x": text})),
)
CHANGES = st.builds(
    Change,
    files=st.lists(FILES, max_size=3, unique_by=lambda file: file.path),
    said=st.lists(st.builds(Transaction, TEXT, SIGNED), max_size=3, unique_by=lambda t: t.app_id),
    told=st.dictionaries(TEXT.map("forebay.{}".format), TEXT, max_size=2),
)


NOTHING = Change()


def commit(lake: Lake, change: Change = NOTHING) -> Snapshot:
    return lake.commit(lambda _: change)


def said_in(content: str) -> list[Any]:
    """The content of a commit without its times, its author and null values."""
    hidden = {"timestamp", "modificationTime", "engineInfo", "clientVersion"}
    told = []
    for action in map(json.loads, content.split("\n")):
        ((kind, said),) = action.items()
        told.append({kind: {k: v for k, v in said.items() if v is not None and k not in hidden}})
    return told


@pytest.fixture(scope="module")
def one_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return make_lake(tmp_path_factory.mktemp("lake"))


@settings(max_examples=100)
@given(CHANGES)
def test_a_commit_made_here_says_what_the_library_says(one_lake: Lake, change: Change) -> None:
    before = one_lake.snapshot()
    lake_module._hand_over(before, change, 0)
    theirs = Path(one_lake.root, log.commit_path(before.version + 1)).read_text()
    ours = commit_file(change, before.about.partitions, 0).decode()
    assert said_in(ours) == said_in(theirs)


def test_the_library_removes_a_file_that_was_added_here(tmp_path: Path) -> None:
    """By the path in the log, which must be spelled as the library spells it."""
    lake = make_lake(tmp_path)
    signs = "".join(map(chr, range(33, 127))).replace("/", "") + " é\u20ac"
    file = NewFile(f"stream={signs}/{signs}.parquet", 1, 1, {"stream": signs}, "{}")
    (tmp_path / file.path).parent.mkdir()
    now = commit(lake, Change([file]))
    assert [found.path for found in now.files] == [file.path]
    lake.commit(lambda snapshot: Change(instead_of=snapshot.files))
    assert lake.snapshot().files == []


def test_adding_to_a_folder_does_not_look_at_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake(tmp_path)
    monkeypatch.setattr(lake_module, "opened", lambda *_: pytest.fail("the table was opened"))
    for batch in range(3):
        commit(lake, Change((), of_batch("q", batch)))
    assert lake.snapshot().batch_of("q") == 2


def test_a_version_is_taken_once(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    stores.put_commit(lake.place, 1, b'{"commitInfo":{}}')
    with pytest.raises(stores.TakenError):
        stores.put_commit(lake.place, 1, b"{}")
    names = sorted(path.name for path in (tmp_path / stores.LOG).iterdir())
    assert names == [f"{0:020}.json", f"{1:020}.json"]
    assert Path(lake.root, log.commit_path(1)).read_bytes() == b'{"commitInfo":{}}'


def test_a_disk_that_is_full_leaves_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = make_lake(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stores, "sync_folders", lambda *_: None)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LakeError, match="No space left on device"):
        commit(lake)
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / stores.LOG).iterdir()] == [f"{0:020}.json"]
    assert commit(lake).version == 1


def test_a_table_that_asks_more_of_its_writers_is_left_to_the_library(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    commit(lake)
    assert authors(tmp_path)[0] == ENGINE
    DeltaTable(str(tmp_path)).alter.add_constraint({"positive": "n > 0"})
    commit(lake)
    assert "delta-rs" in authors(tmp_path)[0]


def authors(folder: Path) -> list[str]:
    return [told["engineInfo"] for told in DeltaTable(str(folder)).history()]


def test_what_another_has_changed_of_a_lake_is_seen(tmp_path: Path) -> None:
    lake, other = make_lake(tmp_path), Lake(str(tmp_path))
    commit(lake)
    other.grow([StructField("more", LongType())])
    assert "more" in lake.snapshot().about.columns.fieldNames()
    commit(lake)
    assert "more" in opened(lake.place).schema().to_json()


@pytest.mark.parametrize("count", [1, log.FEW, log.FEW + 1])
def test_commits_of_others_are_followed_however_many(tmp_path: Path, count: int) -> None:
    lake, other = make_lake(tmp_path), Lake(str(tmp_path))
    assert lake.snapshot().batch_of("q") == -1
    for batch in range(count):
        commit(other, Change((), of_batch("q", batch)))
    write_deltalake(str(tmp_path), pa.table({"stream": ["s"], "n": [1]}), mode="append")
    assert (lake.snapshot().version, lake.snapshot().batch_of("q")) == (count + 1, count - 1)
    assert commit(lake).version == count + 2


def test_a_lake_that_was_made_anew_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    lake = make_lake(tmp_path)
    assert commit(lake, Change((), of_batch("q", 5))).batch_of("q") == 5
    for path in (tmp_path / stores.LOG).iterdir():
        path.unlink()
    Lake(str(tmp_path)).create(NUMBERS)
    assert (lake.snapshot().version, lake.snapshot().batch_of("q")) == (0, -1)
