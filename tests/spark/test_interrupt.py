"""Ctrl-c while Spark starts: the command ends without a word, and no Java stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

pytestmark = pytest.mark.spark


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


def wait_until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_ctrl_c_while_spark_starts_leaves_nothing_running(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"n": [1]}))
    line = [sys.executable, "-m", "forebay", "sql", "--table", f"t={tmp_path}", "SELECT 1"]
    with (tmp_path / "told").open("w+") as told:
        sql = subprocess.Popen(line, stdout=told, stderr=told, start_new_session=True)
        # Java looks up its own command line first, in another Java (launcher.Main).
        wait_until(lambda: any("-Xmx1g" in of and "SparkSubmit" in of for of in running(sql.pid)))
        os.killpg(sql.pid, signal.SIGINT)
        assert sql.wait(60) == 130
        wait_until(lambda: not running(sql.pid))
        told.seek(0)
        assert "Traceback" not in told.read()
