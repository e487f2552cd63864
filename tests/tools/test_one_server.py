"""Which tests `testkit/one_server.py` leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from testkit.places import ROOT

CONFTEST = """
from testkit import one_server

def pytest_collection_modifyitems(config, items):
    one_server.spare(config, items)
"""
TESTS = """
import pytest

both = pytest.mark.parametrize("server", ["redis_server", "forebay_server"])

@pytest.mark.one_server
@pytest.mark.parametrize("n", [1, 2])
@both
def test_of_our_program(server, n): pass

@both
def test_of_the_server(server): pass

@pytest.mark.one_server
@pytest.mark.parametrize("server", ["redis"])
def test_that_needs_redis(server): pass

@pytest.mark.one_server
@pytest.mark.parametrize("server", ["forebay"])
def test_that_needs_ours(server): pass

@pytest.mark.one_server
def test_without_a_server(): pass
"""


def collected(folder: Path, **env: str) -> list[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-c", "/dev/null"]
    ran = subprocess.run(
        [*command, "--rootdir", folder, folder],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FOREBAY_BOTH_SERVERS": ""} | env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    return [line.partition("::")[2] for line in ran.stdout.splitlines() if "::" in line]


def test_a_test_of_our_own_program_runs_on_one_server_and_every_other_test_stays(
    tmp_path: Path,
) -> None:
    found = collected(tmp_path)
    ours = [name for name in found if name.startswith("test_of_our_program")]
    assert len(ours) == 2
    assert len({name.partition("_server")[0] for name in ours}) == 1
    assert sorted(set(found) - set(ours)) == [
        "test_of_the_server[forebay_server]",
        "test_of_the_server[redis_server]",
        "test_that_needs_ours[forebay]",
        "test_that_needs_redis[redis]",
        "test_without_a_server",
    ]
    assert set(found) < set(collected(tmp_path, FOREBAY_BOTH_SERVERS="1"))
