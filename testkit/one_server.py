"""Tests that each kind of server can run, and one of them does.

A test with the marker ``one_server`` exists once for Redis and once for Forebay.  It is about our
own programs: a page in a browser, a command, a job in Spark.  What depends on the server has tests
of its own, without that marker, and they run on both.  So half of these tests run on each, always
the same half.  FOREBAY_BOTH_SERVERS=1 runs all of them on both.
"""

from __future__ import annotations

import os
import zlib

import pytest

KINDS = ("redis", "forebay")


def spare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that run on the other server."""
    if os.environ.get("FOREBAY_BOTH_SERVERS") == "1":
        return
    names = {item.nodeid for item in items}
    spared = [item for item in items if other_of(item) in names and not is_chosen(item)]
    config.hook.pytest_deselected(items=spared)
    items[:] = [item for item in items if item not in set(spared)]


def other_of(item: pytest.Item) -> str:
    """The name of the same test on the other kind of server; empty if there is none."""
    kind = kind_of(item)
    if not kind or item.get_closest_marker("one_server") is None:
        return ""
    (other,) = set(KINDS) - {kind}
    test, bracket, parameters = item.nodeid.partition("[")
    return test + bracket + parameters.replace(kind, other)


def is_chosen(item: pytest.Item) -> bool:
    """Whether this is the kind of server that the test runs on."""
    name: str = getattr(item, "originalname", item.name)
    return kind_of(item) == KINDS[zlib.crc32(name.encode()) % len(KINDS)]


def kind_of(item: pytest.Item) -> str:
    """The kind of server that a parameter of the test names; empty if none does."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    kinds = {str(value).removesuffix("_server") for value in parameters.values()}
    return next((kind for kind in KINDS if kind in kinds), "")
