"""Fixtures for tests of the commands."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from workers.tests.support.target import Target
from workers.tests.support.work import Work


@pytest.fixture
def work(target: Target, tmp_path: Path) -> Iterator[Work]:
    work = Work(target, tmp_path)
    yield work
    if work.process is not None:
        if work.process.poll() is None:
            work.process.send_signal(signal.SIGTERM)
            work.process.wait(60)
        if work.process.stderr is not None:
            work.process.stderr.close()
