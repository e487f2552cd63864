"""The daemon that forks workers: what it preloads for them, and when PySpark's own is used."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest

from forebay_spark.runtime import daemon
from testkit.servers import environment

pytestmark = pytest.mark.skipif(
    not daemon.THREADS.is_dir(), reason="this system does not tell of threads"
)

OURS, SPARKS_OWN = "forebay_spark.runtime.daemon", "pyspark.daemon"
WORKERS = "pyspark.worker"
PATIENCE_S = 120.0


class Daemon(NamedTuple):
    """A daemon that has finished its imports and waits for the JVM."""

    process: subprocess.Popen[bytes]
    port: int

    @property
    def module(self) -> str:
        """The module that it runs now."""
        words = Path(f"/proc/{self.process.pid}/cmdline").read_bytes().split(b"\0")
        return words[words.index(b"-m") + 1].decode()

    @contextmanager
    def worker(self) -> Iterator[int]:
        """A process that waits for its first task."""
        jvm = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        with jvm, jvm.makefile("rb") as replies:
            yield int.from_bytes(_read(replies, 4))


@contextmanager
def started(module: str, workers: str, path: Path | None = None) -> Iterator[Daemon]:
    """A daemon, started as by the JVM; ``path`` has further modules."""
    there = environment()
    there["PYTHONPATH"] = os.pathsep.join(filter(None, (str(path or ""), there["PYTHONPATH"])))
    command = [sys.executable, "-m", module, workers]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=there) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            yield Daemon(process, int.from_bytes(_read(process.stdout, 4)))
            process.stdin.close()
            process.wait(PATIENCE_S)
        finally:
            process.kill()


def _read(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    assert len(data) == size, "it has ended"
    return data


def libraries(pid: int) -> str:
    """The files that a process has in its memory."""
    return Path(f"/proc/{pid}/maps").read_text()


def threads(pid: int) -> int:
    """How many a process has."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def test_a_worker_has_all_libraries_before_its_first_task() -> None:
    with started(OURS, WORKERS) as ours, ours.worker() as pid:
        assert ours.module == OURS
        assert pid != ours.process.pid
        assert "libarrow" in libraries(pid)
        assert "deltalake" in libraries(pid)
        assert threads(pid) == 1
    with started(SPARKS_OWN, WORKERS) as theirs, theirs.worker() as pid:
        assert "libarrow" not in libraries(pid)


THREAD = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
IDS = ["starts a thread", "lacks a library", "fails"]


@pytest.mark.parametrize("content", [THREAD, "import no_such_library", "raise ValueError"], ids=IDS)
def test_what_a_fork_could_break_or_nobody_can_import_is_left_to_pysparks_own(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "odd_workers.py").write_text(content)
    with started(OURS, "odd_workers", tmp_path) as odd:
        assert odd.module == SPARKS_OWN


def test_where_threads_cannot_be_seen_nothing_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "THREADS", tmp_path / "nowhere")
    assert not daemon.is_ready([WORKERS])


@pytest.mark.spark
def test_tasks_of_a_session_run_in_workers_of_this_daemon(spark: Any) -> None:
    """Modules imported before the fork are excluded from garbage collection."""
    frozen = spark.sparkContext.parallelize([0], 1).map(lambda _: gc.get_freeze_count()).collect()
    assert frozen[0] > 10_000
