"""A place for the servers of these tests."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def scratch(server_root: Path) -> Path:
    """An empty directory with a short path: that of a unix socket has little room."""
    return Path(tempfile.mkdtemp(dir=server_root))
