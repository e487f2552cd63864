"""What a lake on this machine has, for a person; read from its log alone, without Spark."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from forebay_spark.lake.commits import State
from forebay_spark.lake.errors import LakeError
from forebay_spark.lake.files import LocalFiles
from forebay_spark.lake.log import CommitLog


def describe(root: str) -> str:
    """A few lines about a lake."""
    state = CommitLog(LocalFiles(Path(root).absolute())).load()
    if state is None:
        raise LakeError(f"There is no lake at {root}. Correct the path.")
    size_bytes = sum(file.size_bytes for file in state.files.values())
    head = (
        f"{root}: {state.rows:,} rows in {len(state.files)} files, {size_bytes:,} bytes, "
        f"{state.about.format}, commit {state.version}\n"
    )
    return head + "".join(_streams(state))


def _streams(state: State) -> list[str]:
    files = Counter(file.stream for file in state.files.values())
    width = max((len(stream) for stream in state.cuts), default=0)
    return [
        f"  {stream:<{width}}  up to {cut.id}  ({_when(cut.id.ms)}), {files[stream]} files\n"
        for stream, cut in sorted(state.cuts.items())
    ]


def _when(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "beyond the calendar"
