"""Patterns match as they do on the server; the tests ask the server."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from forebay_spark.servers.glob import matches
from spark.tests.support.spark_streams import Target

NAMES = ["orders", "orders:{0}", "orders:{1}", "orders:[x]", "order-s", "a", "b", "^", "é", "a\\b"]
PIECES = ["*", "?", "[", "]", "^", "-", "\\", "a", "b", "o", "orders", ":", "{", "0", "é", "[^a]"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=6))
@example(pieces=["orders:{*}"])
@example(pieces=["[^o]*"])
@example(pieces=["orders:", "\\", "[x]"])
@example(pieces=["[a-"])
@example(pieces=["[", "*", "-", "é"])
def test_a_pattern_chooses_the_names_that_the_server_chooses(
    target: Target, pieces: list[str]
) -> None:
    pattern = "".join(pieces)
    target.client.mset(dict.fromkeys(NAMES, 1))
    found: list[bytes] = target.client.keys(pattern)
    assert sorted(n for n in NAMES if matches(pattern, n)) == sorted(k.decode() for k in found)


@pytest.mark.parametrize(("pattern", "wanted"), [("orders:*", 3), ("[^o]", 3), ("nothing", 0)])
def test_a_pattern_chooses_some_names(pattern: str, wanted: int) -> None:
    assert sum(matches(pattern, name) for name in NAMES) == wanted
