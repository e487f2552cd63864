"""Ctrl-C during a statement: one line, no stack, and Spark works as before afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from forebay.cli.main import main
from spark.tests.support.spark_streams import Target
from spark.tests.support.terminal import CTRL_C, CTRL_D, Terminal
from testkit.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

PATIENCE_S = 120.0
ENDLESS = "SELECT sum(id % 7) AS n FROM range(1000000000000)"
#: Spark runs this inside one call, unlike a statement that returns rows.
ENDLESS_CALL = f"CREATE TABLE never USING parquet AS {ENDLESS}"


class Jobs:
    """The jobs of Spark, by its own web pages."""

    def __init__(self, page: str) -> None:
        self._list = f"{page}/api/v1/applications"

    def running(self) -> int:
        (application,) = self._get("")
        return len(self._get(f"/{application['id']}/jobs?status=running"))

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self._list}{path}", timeout=30) as page:
            return json.load(page)


def after_ctrl_c(shell: Terminal) -> str:
    """The text after the key, up to the prompt; the terminal may have echoed the key or not."""
    shell.press(CTRL_C)
    return shell.until("sql> ").replace("^C", "")


def test_ctrl_c_ends_the_statement_and_the_shell_goes_on(
    redis_target: Target, tmp_path: Path
) -> None:
    redis_target.add("s", 3)
    command = [sys.executable, "-m", "forebay", "sql", "--stream", "s", "--url", redis_target.url]
    command += ["--master", "local[1]", "--ui", "--conf", "spark.log.level=OFF"]
    command += ["--conf", f"spark.sql.warehouse.dir={tmp_path / 'warehouse'}"]
    with Terminal(command, XDG_STATE_HOME=str(tmp_path)) as shell:
        page = re.search(r"http://\S+", shell.until("sql> "))
        assert page is not None
        jobs = Jobs(page[0])
        for statement in (ENDLESS, ENDLESS_CALL):
            shell.press(f"{statement};\n")
            wait_until("it runs", jobs.running, PATIENCE_S)
            shell.until(";\n")
            assert after_ctrl_c(shell) == "\nstopped\nsql> "
            wait_until("it ends", lambda: not jobs.running(), PATIENCE_S)
        shell.press(f"{ENDLESS};\n")
        shell.until(";\n")  # Enter was read, and Spark may not have begun
        # Readline ends its line too, if it has not yet noticed that the terminal did.
        assert after_ctrl_c(shell).lstrip("\n") == "stopped\nsql> "
        for _ in range(2):
            assert after_ctrl_c(shell) == "\nsql> "
        shell.press("SELECT count(*) AS n FROM s;\n")
        assert re.search(r"n\n-\n3\n", shell.until("sql> "))
        shell.press(CTRL_D)
        assert shell.exit_code() == 0


def test_ctrl_c_ends_a_command_with_one_sentence(
    spark: Any, redis_target: Target, capfd: pytest.CaptureFixture[str]
) -> None:
    redis_target.add("s", 3)
    tracker, before = spark.sparkContext.statusTracker(), signal.getsignal(signal.SIGINT)

    def press() -> None:
        wait_until("it runs", tracker.getActiveJobsIds, PATIENCE_S)
        os.kill(os.getpid(), signal.SIGINT)

    person = threading.Thread(target=press)
    person.start()
    assert main(["sql", "--stream", "s", "--url", redis_target.url, ENDLESS]) == 1
    person.join()
    assert capfd.readouterr().err == "forebay: stopped by Ctrl-C; the output is incomplete\n"
    assert signal.getsignal(signal.SIGINT) is before
    wait_until("it ends", lambda: not tracker.getActiveJobsIds(), PATIENCE_S)
