"""The doctor, for all tests of this folder."""

from __future__ import annotations

import pytest

from server.tests.support.doctor import Doctor


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    return Doctor(capsys)
