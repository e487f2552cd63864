"""A Spark cluster of its own on this machine: a master and a worker, each a process."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from forebay_spark.runtime.java import ensure_java
from testkit import small_spark
from testkit.servers import free_port
from testkit.waiting import wait_until

PATIENCE_S = 120.0
STOP_TIMEOUT_S = 30.0


@contextmanager
def standalone(directory: Path) -> Iterator[str]:
    """The URL of a master that has one worker with two cores."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    master = _daemon(directory / "master", "master.Master", "--port", str(port))
    try:
        wait_until("the master is up", lambda: "I have been elected" in master.log(), PATIENCE_S)
        worker = _daemon(directory / "worker", "worker.Worker", "--cores", "2", "-m", "1g", url)
        try:
            wait_until(
                "the worker is known", lambda: "Registering worker" in master.log(), PATIENCE_S
            )
            yield url
        finally:
            worker.stop()
    finally:
        master.stop()


class _Daemon:
    """One JVM of the cluster."""

    def __init__(self, process: subprocess.Popen[bytes], log_path: Path) -> None:
        self._process = process
        self._log_path = log_path

    def log(self) -> str:
        assert self._process.poll() is None, self._log_path.read_text()
        return self._log_path.read_text("utf-8", "replace")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _daemon(directory: Path, name: str, *arguments: str) -> _Daemon:
    directory.mkdir(parents=True)
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    host = ["--host", "127.0.0.1", "--webui-port", "0"]
    command = [str(program), f"org.apache.spark.deploy.{name}", *host, *arguments]
    environment = {
        **os.environ,
        "JAVA_HOME": str(ensure_java()),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": os.environ[small_spark.VARIABLE],
        "SPARK_WORKER_DIR": str(directory),
        "SPARK_LOCAL_DIRS": str(directory),
    }
    log_path = directory / "log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
        )
    return _Daemon(process, log_path)
