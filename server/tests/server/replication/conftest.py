"""Nodes for tests of replication: started by name, ended with the test, no traceback in any log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testkit.nodes import Node, nodes_in

Start = Callable[..., Node]


@pytest.fixture
def start(scratch: Path) -> Iterator[Start]:
    """start("forebay", appendonly="yes"), start("redis"): a node that is ready."""
    started: list[Node] = []
    with nodes_in(scratch) as begin:

        def make(kind: str, **directives: str | int) -> Node:
            node = begin(kind, **directives)
            started.append(node)
            return node

        yield make
        for node in started:
            for log in node.folder.glob("log*"):
                text = log.read_text("utf-8", "replace")
                assert "Traceback" not in text, f"a traceback in the log of {node!r}:\n{text}"
                assert "Internal error" not in text, f"an internal error of {node!r}:\n{text}"
