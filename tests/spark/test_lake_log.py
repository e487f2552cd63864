"""The commit log of a lake, without Spark: order, snapshots, two writers, both doors to disk."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from forebay_spark.ids import EntryId
from forebay_spark.lake.commits import (
    About,
    Commit,
    Cut,
    DataFile,
    State,
    apply,
    decode_commit,
    decode_state,
    encode_commit,
    encode_state,
)
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.files import LocalFiles, is_scratch
from forebay_spark.lake.log import SNAPSHOT_EVERY, CommitLog

ABOUT = About("parquet", "{}", ("stream", "date"), "{}", {"mode": "FAILFAST"})


def data_file(name: str, stream: str = "s", low: int = 0, high: int = 9) -> DataFile:
    path = f"data/commit=a/stream={stream}/date=2026-01-01/{name}"
    return DataFile(path, 10, stream, EntryId(low, 0), EntryId(high, 0))


def new_log(folder: Path) -> CommitLog:
    log = CommitLog(LocalFiles(folder))
    log.change(lambda state: Commit("create", 1, about=ABOUT) if state is None else None)
    return log


def append(log: CommitLog, number: int) -> State:
    state = log.change(
        lambda _: Commit(
            "append",
            number,
            (data_file(f"f{number}"),),
            cuts={"s": Cut(EntryId(number, 0), number)},
        )
    )
    assert state is not None
    return state


def test_a_folder_without_a_log_is_no_lake(tmp_path: Path) -> None:
    assert CommitLog(LocalFiles(tmp_path)).load() is None


def test_another_reader_sees_what_was_committed(tmp_path: Path) -> None:
    writer = new_log(tmp_path)
    append(writer, 5)
    state = CommitLog(LocalFiles(tmp_path)).load()
    assert state == writer.load()
    assert state is not None
    assert state.cuts == {"s": Cut(EntryId(5, 0), 5)}
    assert [file.path for file in state.files.values()] == [data_file("f5").path]


def test_commits_and_states_survive_json() -> None:
    commit = Commit(
        "replace",
        7,
        (data_file("new"), DataFile("data/commit=b/x", 3)),
        ("gone",),
        ("old",),
        {"s": Cut(EntryId(3, 2**64 - 1), None)},
        {"query": 4},
        12,
        ABOUT,
    )
    assert decode_commit(encode_commit(commit)) == commit
    state = State(
        3, ABOUT, {"f": data_file("f")._replace(path="f")}, {"x": 1}, commit.cuts, {"q": 1}, 5
    )
    assert decode_state(encode_state(state)) == state


def test_a_snapshot_stands_for_the_commits_before_it(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for number in range(1, SNAPSHOT_EVERY + 3):
        append(log, number)
    before = CommitLog(LocalFiles(tmp_path)).load()
    assert log.forget(SNAPSHOT_EVERY) == SNAPSHOT_EVERY
    assert CommitLog(LocalFiles(tmp_path)).load() == before
    assert append(CommitLog(LocalFiles(tmp_path)), SNAPSHOT_EVERY + 3).version == SNAPSHOT_EVERY + 3


def test_a_reader_whose_commits_are_forgotten_starts_from_the_snapshot(tmp_path: Path) -> None:
    log, reader = new_log(tmp_path), CommitLog(LocalFiles(tmp_path))
    reader.load()
    for number in range(1, SNAPSHOT_EVERY + 2):
        append(log, number)
    log.forget(SNAPSHOT_EVERY)
    assert reader.load() == log.load()


def test_a_hole_in_the_log_is_told(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, 1)
    append(log, 2)
    (tmp_path / "_log" / f"{1:020}.json").unlink()
    with pytest.raises(LakeError, match="Commit 1 is missing"):
        CommitLog(LocalFiles(tmp_path)).load()


def test_a_cut_never_goes_back() -> None:
    state = State(1, ABOUT, cuts={"s": Cut(EntryId(5, 0), 5)})
    with pytest.raises(LakeError, match="back to 4-0"):
        apply(state, 2, Commit("append", 1, cuts={"s": Cut(EntryId(4, 0), 4)}))


def test_only_live_files_can_be_removed() -> None:
    state = State(1, ABOUT)
    with pytest.raises(LakeError, match="does not fit"):
        apply(state, 2, Commit("replace", 1, remove=("nothing",)))


def test_writers_at_the_same_time_all_get_their_own_number(tmp_path: Path) -> None:
    new_log(tmp_path)
    asked: list[int] = []

    def write(name: str) -> None:
        log = CommitLog(LocalFiles(tmp_path))
        for number in range(10):

            def decide(_: State | None, number: int = number) -> Commit:
                asked.append(number)
                return Commit("append", 1, (data_file(f"{name}-{number}"),))

            log.change(decide)

    threads = [threading.Thread(target=write, args=(f"w{at}",)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    state = CommitLog(LocalFiles(tmp_path)).load()
    assert state is not None
    assert (state.version, len(state.files)) == (40, 40)
    assert len(asked) >= 40


def test_a_name_is_given_once_and_no_draft_stays(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    assert files.create("a/b", b"first")
    assert not files.create("a/b", b"second")
    assert files.read("a/b") == b"first"
    assert files.names("a") == ["b"]
    assert files.read("a/c") is None


def test_scratch_files_are_not_data(tmp_path: Path) -> None:
    for name in (
        "data/x/_SUCCESS",
        "data/x/.part.crc",
        "data/x/_stream=a/part",
        "data/_temporary/p",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1")
    assert [info.path for info in LocalFiles(tmp_path).walk("data")] == ["data/x/_stream=a/part"]
    assert is_scratch("a/_x/b") and not is_scratch("a/_x=1/b")


def test_removing_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.remove("nothing")
    files.create("folder/file", b"")
    files.sync(["folder/file"])
    files.remove("folder")
    assert files.names("") == []
