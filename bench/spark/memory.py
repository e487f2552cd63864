"""How much memory a task needs to read a long range: the same for any length.

    python -m bench.spark.memory URL STREAM FOLDER

prints by how many megabytes reading STREAM grows a process: its highest resident size minus that
before the first entry.  It reads as a task of Spark does, and drops each batch as Spark does
once it is sent; or, if FOLDER is not empty, writes them there as a task of the archive does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from itertools import repeat
from pathlib import Path

from bench.load import crowd
from bench.peers import Peer
from bench.rows import FOREVER_S, PIPELINE, fill
from bench.spark.lines import Line, compare, in_turns
from bench.spark.stage import Stage, url
from forebay.cli.watching.crowd import Expect
from forebay_spark.lake.stores import place_of
from forebay_spark.options import BATCH, read_options
from forebay_spark.pipeline.direct_write import Landing, land_task
from forebay_spark.read.batch import BatchReader
from forebay_spark.read.offsets import Piece
from forebay_spark.read.reading import Task
from forebay_spark.values.schema import PLAIN
from testkit.resp import encode

WARM = b"race:warm"
LARGE_BYTES = 1 << 20
BYTES_PER_MB = 1e6
#: Every reading is a fresh process, so few are enough.
ROUNDS = 3
#: A range many times as long may take this much more: the allocator varies.
BOUND = 1.25


def memory(stage: Stage) -> list[Line]:
    """Long ranges against shorter ones, of small entries and of large ones."""
    lines = []
    for peer in (stage.forebay, stage.redis):
        fill(peer, WARM, PIPELINE)
        for kind, sizes in (
            ("entries", stage.plan.memory_entries),
            ("entries of 1 MB", stage.plan.large_entries),
        ):
            lines += longer_and_shorter(stage, peer, kind, sizes)
    # Both lengths are more than one row group, up to which a task that writes files may grow.
    folder = str(stage.folder / "landed")
    return lines + longer_and_shorter(
        stage, stage.forebay, "entries to Parquet", stage.plan.landed_entries, folder
    )


def longer_and_shorter(
    stage: Stage, peer: Peer, kind: str, sizes: tuple[int, int], folder: str = ""
) -> list[Line]:
    """One line: the growth over the longer range against that over the shorter one."""
    keys = {size: f"race:memory:{size}".encode() for size in sizes}
    for size, key in keys.items():
        (fill_large if "MB" in kind else fill)(peer, key, size)
    few, many = sizes
    title = f"task memory, {many:,} {kind}, {peer.name}"
    runs = {
        f"{size:,} {kind}": lambda key=keys[size]: growth_mb(peer, key.decode(), folder)
        for size in (many, few)
    }
    samples = stage.samples[title] = in_turns(ROUNDS, runs)
    for key in keys.values():
        peer.command("DEL", key)
    return compare(title, "MB", samples, {f"{few:,} {kind}": BOUND}, smaller_is_better=True)


def fill_large(peer: Peer, key: bytes, count: int) -> None:
    """Entries of one field with a megabyte in it."""
    command = encode(b"XADD", key, b"*", b"picture", b"x" * LARGE_BYTES)
    crowd(peer, 1, repeat(command, count), Expect(marker=b"$", count=1), 1, FOREVER_S)


def growth_mb(peer: Peer, stream: str, folder: str = "") -> float:
    """The figure that the process below prints."""
    command = [sys.executable, "-m", "bench.spark.memory", url(peer), stream, folder]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def whole(tasks: Iterable[object]) -> Task:
    """One task instead of the several that a long stream is cut into."""
    found = [task for task in tasks if isinstance(task, Task)]
    first, last = found[0].parts[0], found[-1].parts[-1]
    piece = Piece(first.piece.start, last.piece.end, None)
    return Task([first._replace(piece=piece)], found[0].in_columns)


def read_all(address: str, stream: str, folder: str = "") -> None:
    """Read as a task does; batches are dropped or written."""
    options = read_options({"url": address, "streams": stream}, BATCH)
    reader = BatchReader(PLAIN, options)
    task = whole(reader.partitions())
    if folder:
        plan = Landing(PLAIN, options, place_of(folder), ("stream", "date"))
        land_task(plan, task)
        return
    for _ in reader.read(task):
        pass


def status_bytes(name: str) -> int:
    """A size from the kernel's notes about this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def main() -> None:
    """Read a little, so that everything is loaded; then read all of it, and print the growth."""
    address, stream, folder = sys.argv[1:]
    read_all(address, WARM.decode(), folder)
    Path("/proc/self/clear_refs").write_text("5")  # reset the highest size
    before = status_bytes("VmRSS")
    read_all(address, stream, folder)
    print((status_bytes("VmHWM") - before) / BYTES_PER_MB)


if __name__ == "__main__":
    main()
