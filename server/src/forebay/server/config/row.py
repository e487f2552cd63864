"""One row of the tables of directives.

name -- the name in redis.conf and CONFIG SET
attribute -- where the value lives: the attribute of Settings, whose default is the default
kind -- how it is read, checked and printed (kinds.py)
mutable -- AT_ONCE: CONFIG SET works; AT_START: it is refused, the value is read at start
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.server.config.kinds import Kind

AT_ONCE = True
AT_START = False


@dataclass(slots=True, frozen=True)
class Directive:
    """One row; without an attribute it is inert, and the row holds its default as text."""

    name: str
    attribute: str
    kind: Kind[Any]
    mutable: bool
    doc: str
    alias: str = ""
    protected: bool = False
    default: str = ""
    area: str = ""
    #: Valkey's name for the same directive: accepted, and answered if asked by name.
    valkey: str = ""
    #: Patterns of CONFIG GET do not list it, so that the list is that of Redis.
    hidden: bool = False
