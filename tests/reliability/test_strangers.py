"""A client from another address gets only an error line from a protected server (R20)."""

from __future__ import annotations

from pathlib import Path

import pytest

from reliability.stranger_goals import strangers
from testkit.network import has_namespaces


@pytest.mark.skipif(not has_namespaces(), reason="needs the right to make network namespaces")
def test_a_stranger_gets_an_error_line_and_nothing_else(scratch: Path) -> None:
    assert strangers(scratch) == []
