"""Ctrl-C while Spark starts: the command ends with one sentence, and no Java process stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from testkit.waiting import wait_until

pytestmark = pytest.mark.spark
PATIENCE_S = 60.0


def running(session: int) -> list[str]:
    """The command lines of the processes of a session that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, owner = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(owner) == session and state != "Z":
                found.append((folder / "cmdline").read_text())
        except OSError:  # it has just ended
            continue
    return found


def is_java_starting(session: int) -> bool:
    """Whether the JVM of Spark runs; an earlier JVM only prepares its command line."""
    return any("-Xmx1g" in line and "SparkSubmit" in line for line in running(session))


def test_ctrl_c_while_spark_starts_leaves_nothing_running(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"n": [1]}))
    line = [sys.executable, "-m", "forebay", "sql", "--table", f"t={tmp_path}", "SELECT 1"]
    with (tmp_path / "told").open("w+") as told:
        sql = subprocess.Popen(line, stdout=told, stderr=told, start_new_session=True)
        wait_until("Java starts", lambda: is_java_starting(sql.pid), PATIENCE_S)
        os.killpg(sql.pid, signal.SIGINT)
        assert sql.wait(60) == 1
        wait_until("nothing runs", lambda: not running(sql.pid), PATIENCE_S)
        told.seek(0)
        assert told.read() == (
            "starting Spark, about 15 s\nforebay: stopped by Ctrl-C; the output is incomplete\n"
        )
