"""What may go from the server, on both servers and without Spark."""

from __future__ import annotations

import pytest

from forebay_spark import ids
from forebay_spark.connect import Server
from forebay_spark.options import BATCH
from forebay_spark.pipeline.trim import safe_bound, trim_streams
from tests.support.spark_streams import Target

IDS = [f"{ms}-0" for ms in range(1, 11)]


@pytest.fixture
def server(target: Target) -> Server:
    target.add_at("s", IDS)
    return Server(target.options(BATCH, streams="s"))


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


def test_a_stream_that_is_gone_is_no_error(target: Target, server: Server) -> None:
    target.client.delete("s")
    assert trim_streams(server, {"s": ids.parse("4-0")}, None, None) == 0
