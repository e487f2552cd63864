"""Forebay: a stream server that speaks the Redis protocol, and its tools.

This file holds two things: the version, and whether the core runs compiled.  It
imports nothing, so that asking for the version does not load a server.
"""

from __future__ import annotations

__version__ = "0.1.0"

COMPILED, UNTYPED, INTERPRETED = "compiled", "untyped", "interpreted"
#: A small module of the core and one of its classes: setup.py compiles all modules or none.
_WITNESS = ("forebay.engine.ticker", "Ticker")


def build() -> str:
    """How the core runs: as C, as slow C that was built without the types, or as Python."""
    from importlib import import_module
    from importlib.machinery import EXTENSION_SUFFIXES

    module = import_module(_WITNESS[0])
    if not str(module.__file__).endswith(tuple(EXTENSION_SUFFIXES)):
        return INTERPRETED
    # A class with types is a C structure; its objects have no dictionary.
    return UNTYPED if getattr(module, _WITNESS[1]).__dictoffset__ else COMPILED


def compiled() -> bool:
    """Whether the core runs as C, with its types."""
    return build() == COMPILED


__all__ = ["__version__", "build", "compiled"]
