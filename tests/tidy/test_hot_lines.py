"""No hot line makes a Python object when it is compiled."""

from __future__ import annotations

import pytest

from tools.hot_lines import ALLOWED, HOT, SOURCES, bodies, slow_lines


@pytest.mark.parametrize("module", HOT)
def test_hot_functions_stay_in_c(module: str) -> None:
    assert set(bodies(module).values()) == set(HOT[module]), "a hot function was renamed"
    assert slow_lines(module) == []


@pytest.mark.parametrize("function", ALLOWED)
def test_what_a_hot_function_is_allowed_is_still_in_it(function: str) -> None:
    module, _, name = function.rpartition(".")
    lines = (SOURCES / "forebay" / (module.replace(".", "/") + ".py")).read_text().splitlines()
    body = [lines[at - 1].strip() for at, found in bodies(module).items() if found == name]
    for words in ALLOWED[function]:
        assert any(line.startswith(words) for line in body), f"no line begins with {words!r}"
