"""No hot line makes a Python object when it is compiled."""

from __future__ import annotations

import pytest

from tools.hot_lines import HOT, bodies, slow_lines


@pytest.mark.parametrize("module", HOT)
def test_hot_functions_stay_in_c(module: str) -> None:
    assert set(bodies(module).values()) == set(HOT[module]), "a hot function was renamed"
    assert slow_lines(module) == []
