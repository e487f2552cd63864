"""Which entries may be trimmed, on both servers and without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay_spark import ids
from forebay_spark.options import BATCH
from forebay_spark.pipeline import trim
from forebay_spark.pipeline.trim import safe_bound, trim_streams, trim_to
from forebay_spark.servers.connect import Link, Server
from spark.tests.support.spark_streams import Target

IDS = [f"{ms}-0" for ms in range(1, 11)]


@pytest.fixture
def server(target: Target) -> Iterator[Server]:
    target.add_at("s", IDS)
    server = Server(target.options(BATCH, streams="s"))
    yield server
    server.close()


@pytest.fixture
def node_entries(target: Target) -> Iterator[Any]:
    """Sets how many entries a node of a stream has; the server gets its own setting back."""
    name = "stream-node-max-entries"
    before = target.client.config_get(name)[name]
    yield lambda count: target.client.config_set(name, count)
    target.client.config_set(name, before)


class Recorder(Link):
    """A link that notes what each XTRIM removed, and what was left after it."""

    def __init__(self, link: Link, target: Target) -> None:
        self._link = link
        self._target = target
        self.removed: list[int] = []
        self.left: list[list[str]] = []

    def call(self, *command: Any) -> Any:
        reply = self._link.call(*command)
        if command[0] == "XTRIM":
            self.removed.append(reply)
            self.left.append(self._target.ids("s"))
        return reply


def bound(server: Server, cut: str, own: str | None = None, kept_ms: int | None = None) -> str:
    return str(safe_bound(server.link("s"), "s", ids.parse(cut), own, kept_ms))


def read(target: Target, group: str, count: int) -> list[bytes]:
    reply = target.client.xreadgroup(group, "c", {"s": ">"}, count=count)
    entries = reply[b"s"][0] if isinstance(reply, dict) else reply[0][1]
    return [entry_id for entry_id, _ in entries]


def test_without_groups_all_that_is_archived_may_go(server: Server) -> None:
    assert bound(server, "7-0") == "7-0"


def test_what_a_group_has_not_been_given_stays(target: Target, server: Server) -> None:
    target.client.xgroup_create("s", "slow", "3-0")
    assert bound(server, "7-0") == "3-0"


def test_what_is_pending_stays_until_it_is_acknowledged(target: Target, server: Server) -> None:
    target.client.xgroup_create("s", "g", "0")
    given = read(target, "g", 6)
    target.client.xack("s", "g", *given[:2], given[4])
    before = ids.parse("3-0").before()
    assert bound(server, "10-0") == str(before)
    target.client.xack("s", "g", *given[2:])
    assert bound(server, "10-0") == "6-0"


def test_the_mirror_of_the_job_itself_does_not_count(target: Target, server: Server) -> None:
    target.client.xgroup_create("s", "mirror", "1-0")
    assert bound(server, "7-0", own="mirror") == "7-0"


def test_young_entries_stay(server: Server) -> None:
    assert bound(server, "7-0", kept_ms=4) == str(ids.parse("4-0").before())


def test_trimming_removes_up_to_the_bound_and_nothing_else(target: Target, server: Server) -> None:
    target.add_at("t", IDS)
    cuts = {name: ids.parse(cut) for name, cut in (("s", "4-0"), ("t", "10-0"))}
    assert trim_streams(server, cuts, None, None) == 14
    assert target.ids("s") == IDS[4:]
    assert target.ids("t") == []
    assert trim_streams(server, cuts, None, None) == 0


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.integers(1, 3), max_size=50),
    deleted=st.sets(st.integers(0, 49)),
    bound=st.integers(0, 110),
    slice_entries=st.integers(1, 9),
    node=st.sampled_from([1, 4, 100]),
)
def test_no_slice_removes_more_than_it_may_or_anything_beyond_the_bound(
    target: Target,
    server: Server,
    node_entries: Any,
    steps: list[int],
    deleted: set[int],
    bound: int,
    slice_entries: int,
    node: int,
) -> None:
    target.client.delete("s")
    node_entries(node)
    all_ids = [f"1-{sum(steps[: at + 1])}" for at in range(len(steps))]
    target.add_at("s", all_ids)
    dead = [all_ids[at] for at in deleted if at < len(all_ids)]
    if dead:
        target.client.xdel("s", *dead)
    live = target.ids("s")
    beyond = [entry for entry in live if ids.parse(entry) > ids.parse(f"1-{bound}")]
    recorder = Recorder(server.link("s"), target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trim, "SLICE_ENTRIES", slice_entries)
        assert trim_to(recorder, "s", ids.parse(f"1-{bound}")) == len(live) - len(beyond)
    assert target.ids("s") == beyond
    assert max(recorder.removed) <= slice_entries
    assert all(left[len(left) - len(beyond) :] == beyond for left in recorder.left)


@pytest.mark.parametrize("node", [100, 50_000])
def test_a_large_trim_takes_several_calls(
    target: Target, server: Server, node_entries: Any, node: int
) -> None:
    target.client.delete("s")
    node_entries(node)
    target.client.config_set("stream-node-max-bytes", 0 if node > 100 else 4096)
    try:
        added = target.add("s", 25_000)
    finally:
        target.client.config_set("stream-node-max-bytes", 4096)
    recorder = Recorder(server.link("s"), target)
    assert trim_to(recorder, "s", ids.parse(added[-11])) == 24_990
    assert target.ids("s") == added[-10:]
    assert max(recorder.removed) <= trim.SLICE_ENTRIES
    assert sum(removed > 0 for removed in recorder.removed) >= 3


def test_a_stream_that_is_gone_is_no_error(target: Target, server: Server) -> None:
    target.client.delete("s")
    assert trim_streams(server, {"s": ids.parse("4-0")}, None, None) == 0
