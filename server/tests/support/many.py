"""How many IDs one command gets."""

from __future__ import annotations

import pytest

#: A handler has room for eight on its stack.  The last one takes seconds on the plain sources, and
#: reaches no other line there than a thousand.
COUNTS = (1, 7, 8, 9, 1000, pytest.param(100_000, marks=pytest.mark.compiled))
