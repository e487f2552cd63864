"""Fixtures of the server's tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from server.tests.support.sim_rig import MakeRig, SimRig


@pytest.fixture
def make_rig() -> Iterator[MakeRig]:
    """Simulated servers that are closed afterwards; their logs must not report a defect."""
    rigs: list[SimRig] = []

    def make(count: int, **settings: Any) -> SimRig:
        rigs.append(SimRig(count, **settings))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.close()
        for node in rig.nodes:
            assert not any("Internal error" in line for line in node.lines), node.lines
