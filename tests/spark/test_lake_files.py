"""Both doors to the file system keep the same promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from forebay_spark.lake.commits import About, Commit
from forebay_spark.lake.files import Files, HadoopFiles, LocalFiles, open_files
from forebay_spark.lake.log import CommitLog

pytestmark = pytest.mark.spark


@pytest.fixture(params=["local", "hadoop"])
def files(request: pytest.FixtureRequest, spark: Any, tmp_path: Path) -> Files:
    if request.param == "local":
        return LocalFiles(tmp_path)
    return HadoopFiles(spark, f"file://{tmp_path}")


def test_a_file_is_made_once_and_whole(files: Files) -> None:
    assert files.read("a/b") is None
    assert files.create("a/b", b"first \xff")
    assert not files.create("a/b", b"second")
    assert files.read("a/b") == b"first \xff"
    assert [name for name in files.names("a") if not name.startswith(".")] == ["b"]


def test_data_files_are_listed_without_scratch(files: Files) -> None:
    for path in ("d/x=1/part", "d/x=1/_SUCCESS", "d/_temporary/0/part", "d/x=2/part"):
        files.create(path, b"12345")
    found = files.walk("d")
    assert sorted(info.path for info in found) == ["d/x=1/part", "d/x=2/part"]
    assert all(info.size_bytes == 5 and info.modified_ms > 0 for info in found)
    files.sync([info.path for info in found])


def test_what_is_removed_is_gone_and_may_be_removed_again(files: Files) -> None:
    files.create("d/a", b"")
    files.create("d/e/b", b"")
    files.remove("d/a")
    files.remove("d")
    files.remove("d")
    assert files.names("d") == [] and files.walk("d") == []


def test_a_log_works_through_both(files: Files) -> None:
    log = CommitLog(files)
    about = About("parquet", "{}", ())
    log.change(lambda state: Commit("create", 1, about=about) if state is None else None)
    log.change(lambda _: Commit("append", 2, batches={"q": 1}))
    state = CommitLog(files).load()
    assert state is not None
    assert (state.version, state.batches) == (1, {"q": 1})


def test_local_paths_and_urls_open_the_same_door(spark: Any, tmp_path: Path) -> None:
    for root in (str(tmp_path), f"file://{tmp_path}"):
        assert isinstance(open_files(spark, root), LocalFiles)
        assert open_files(spark, root).root == str(tmp_path)
