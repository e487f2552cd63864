"""Where workers talk over Unix sockets, and where they do not."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

TELL = """
import os, sys
from forebay_spark.runtime.worker_sockets import FOLDER, socket_settings
settings = socket_settings(sys.argv[1])
assert socket_settings(sys.argv[1]) == settings
print(len(settings), settings.get(FOLDER), flush=True)
if settings and os.fork() == 0:
    sys.exit()
os.wait() if settings else None
print(bool(settings) and os.path.isdir(settings[FOLDER]))
"""


def told(master: str, folder: Path) -> list[str]:
    """What a process says whose folder for temporary files is this one."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    return (
        subprocess.run(
            [sys.executable, "-c", TELL, master], env=environment, capture_output=True, check=True
        )
        .stdout.decode()
        .split()
    )


@pytest.fixture
def short(tmp_path: Path) -> Iterator[Path]:
    """A folder with a short name, through which a longer one is reached."""
    link = Path(tempfile.gettempdir()) / f"f{os.getpid()}"
    link.symlink_to(tmp_path)
    yield link
    link.unlink()


def test_a_local_session_has_a_folder_until_its_process_ends(short: Path, tmp_path: Path) -> None:
    settings, folder, is_there_after_a_child_ended = told("local[2]", short)
    assert (settings, is_there_after_a_child_ended) == ("2", "True")
    assert folder.startswith(f"{short}/forebay-")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://host", ""])
def test_a_cluster_keeps_the_sockets_of_spark(master: str, short: Path) -> None:
    assert told(master, short) == ["0", "None", "False"]


def test_a_folder_whose_name_is_too_long_for_a_socket_is_not_used(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 61)
    long.mkdir()
    assert told("local[2]", long) == ["0", "None", "False"]
    assert list(long.iterdir()) == []
