"""Forebay: a stream server that speaks the Redis protocol, and what belongs around it.

This file knows two things, the version and whether the core runs compiled, and
imports nothing: whoever only asks for the version does not wait for a server.
"""

from __future__ import annotations

__version__ = "0.1.0"

#: The last of the compiled modules to be built; where it is C, all are.
_WITNESS = "forebay.server.loop"


def compiled() -> bool:
    """Whether the core runs as C and not as Python."""
    from importlib.machinery import EXTENSION_SUFFIXES
    from importlib.util import find_spec

    spec = find_spec(_WITNESS)
    return bool(spec and spec.origin and spec.origin.endswith(tuple(EXTENSION_SUFFIXES)))


__all__ = ["__version__", "compiled"]
