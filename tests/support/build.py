"""Which build of the package is under test: the plain sources or the compiled one."""

from __future__ import annotations

import importlib.util

#: Any module of setup.py's COMPILED list will do; this one needs no other.
WITNESS = "forebay.core.ids"


def origin() -> str:
    """The file that Python loads the witness from."""
    spec = importlib.util.find_spec(WITNESS)
    assert spec is not None, "forebay is not importable: run `make setup`"
    assert spec.origin is not None
    return spec.origin


def is_compiled() -> bool:
    """Whether the core is C here."""
    return origin().endswith(".so")
