"""redis-py against Forebay: every stream method, sync and async, RESP2 and RESP3.

A scenario is written once: ``call("xadd", ...)`` runs the method on the kind of client
under test and waits for it where needed.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis
import redis.asyncio

from testkit.servers import ServerProcess
from testkit.waiting import PATIENCE_S, PAUSE_S

Call = Callable[..., Awaitable[Any]]
Scenario = Callable[[Call], Awaitable[None]]
KINDS = [(kind, protocol) for kind in ("sync", "async") for protocol in (2, 3)]

F4 = {"rider": "Castilla", "speed": "30.2", "position": "1", "location_id": "1"}


def entries(reply: Any, key: str) -> list[tuple[str, dict[str, str]]]:
    """The entries of one stream in an XREAD or XREADGROUP reply, whatever its shape."""
    if isinstance(reply, dict):
        found = reply.get(key, [])
        return [tuple(e) for e in (found[0] if found and isinstance(found[0], list) else found)]
    return [tuple(e) for name, found in reply or [] if name == key for e in found]


async def run(client: Any, scenario: Scenario) -> None:
    async def call(method: str, *args: Any, **kwargs: Any) -> Any:
        result = getattr(client, method)(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    try:
        await scenario(call)
    finally:
        closing = client.aclose() if hasattr(client, "aclose") else client.close()
        if inspect.isawaitable(closing):
            await closing


@pytest.fixture(params=KINDS, ids=lambda kind: f"{kind[0]}-resp{kind[1]}")
def play(request: pytest.FixtureRequest, forebay_server: ServerProcess) -> Callable[..., None]:
    kind, protocol = request.param
    make = redis.Redis if kind == "sync" else redis.asyncio.Redis

    def play_scenario(scenario: Scenario) -> None:
        client = make(port=forebay_server.port, protocol=protocol, decode_responses=True)
        asyncio.run(run(client, scenario))

    return play_scenario


def test_adding_and_reading_ranges(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        assert await call("xadd", "race", F4, id="1-1") == "1-1"
        assert await call("xadd", "race", F4, id="1-*") == "1-2"
        assert await call("xadd", "none", F4, nomkstream=True) is None
        assert await call("xlen", "race") == 2
        assert await call("xrange", "race") == [("1-1", F4), ("1-2", F4)]
        assert await call("xrange", "race", min="(1-1", count=5) == [("1-2", F4)]
        assert await call("xrevrange", "race", count=1) == [("1-2", F4)]
        assert entries(await call("xread", {"race": "1-1"}), "race") == [("1-2", F4)]
        assert entries(await call("xread", {"race": "+"}), "race") == [("1-2", F4)]
        assert not await call("xread", {"race": "$"}, block=10)

    play(scenario)


def test_trimming_and_deleting(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        for i in range(1, 11):
            await call("xadd", "race", {"n": i}, id=f"{i}-0")
        assert await call("xtrim", "race", maxlen=8, approximate=False) == 2
        assert await call("xtrim", "race", minid="4-0", approximate=False) == 1
        assert await call("xtrim", "race", maxlen=1, limit=10) == 0
        assert await call("xdel", "race", "4-0", "99-0") == 1
        assert await call("xdelex", "race", "5-0", "99-0", ref_policy="DELREF") == [1, -1]
        await call("xadd", "race", {"n": 11}, id="11-0", maxlen=2, approximate=False)
        assert await call("xlen", "race") == 2
        await call("xadd", "race", {"n": 12}, id="12-0", minid="12-0", approximate=False)
        assert await call("xlen", "race") == 1

    play(scenario)


def test_a_group_reads_acknowledges_and_looks_back(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        assert await call("xgroup_create", "race", "riders", "0", mkstream=True)
        with pytest.raises(redis.ResponseError, match="BUSYGROUP"):
            await call("xgroup_create", "race", "riders", "0")
        for i in range(1, 5):
            await call("xadd", "race", {"n": i}, id=f"{i}-0")
        new = await call("xreadgroup", "riders", "alice", {"race": ">"}, count=3)
        assert [e[0] for e in entries(new, "race")] == ["1-0", "2-0", "3-0"]
        assert await call("xack", "race", "riders", "1-0") == 1
        held = await call("xreadgroup", "riders", "alice", {"race": "0"})
        assert [e[0] for e in entries(held, "race")] == ["2-0", "3-0"]
        summary = await call("xpending", "race", "riders")
        assert (summary["pending"], summary["min"], summary["max"]) == (2, "2-0", "3-0")
        assert summary["consumers"] == [{"name": "alice", "pending": 2}]
        detail = await call("xpending_range", "race", "riders", "-", "+", 10, "alice", idle=0)
        assert [(d["message_id"], d["times_delivered"]) for d in detail] == [("2-0", 2), ("3-0", 2)]

    play(scenario)


def test_claiming_from_a_consumer_that_is_gone(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        await call("xgroup_create", "race", "riders", "0", mkstream=True)
        for i in range(1, 5):
            await call("xadd", "race", {"n": i}, id=f"{i}-0")
        await call("xreadgroup", "riders", "alice", {"race": ">"})
        assert await call("xclaim", "race", "riders", "bob", 0, ["1-0"]) == [("1-0", {"n": "1"})]
        assert await call("xclaim", "race", "riders", "bob", 0, ["2-0"], justid=True) == ["2-0"]
        await call("xclaim", "race", "riders", "bob", 0, ["9-0"], force=True, retrycount=3, idle=5)
        await call("xdel", "race", "3-0")
        claimed = await call("xautoclaim", "race", "riders", "bob", 0, count=10)
        assert claimed[0] == "0-0"
        assert [e[0] for e in claimed[1]] == ["1-0", "2-0", "4-0"]
        assert claimed[2] == ["3-0"]
        assert await call("xgroup_delconsumer", "race", "riders", "bob") == 3
        assert await call("xgroup_destroy", "race", "riders")

    play(scenario)


def test_what_a_stream_says_about_itself(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        await call("xadd", "race", F4, id="1-1")
        await call("xgroup_create", "race", "riders", "0", entries_read=0)
        assert await call("xgroup_createconsumer", "race", "riders", "alice") == 1
        await call("xreadgroup", "riders", "alice", {"race": ">"})
        info = await call("xinfo_stream", "race")
        assert (info["length"], info["last-generated-id"], info["groups"]) == (1, "1-1", 1)
        assert tuple(info["first-entry"]) == ("1-1", F4)
        full = await call("xinfo_stream", "race", full=True)
        assert full["groups"][0]["pel-count"] == 1
        group = (await call("xinfo_groups", "race"))[0]
        assert (group["name"], group["pending"], group["lag"]) == ("riders", 1, 0)
        consumer = (await call("xinfo_consumers", "race", "riders"))[0]
        assert (consumer["name"], consumer["pending"]) == ("alice", 1)
        assert await call("xgroup_setid", "race", "riders", "0", entries_read=0)

    play(scenario)


def test_the_commands_that_came_with_redis_8(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        await call("xgroup_create", "race", "riders", "0", mkstream=True)
        first = await call("xadd", "race", F4, idmp=("producer", b"message-1"))
        assert await call("xadd", "race", F4, idmp=("producer", b"message-1")) == first
        hashed = await call("xadd", "race", {"a": "1", "b": "2"}, idmpauto="producer")
        assert await call("xadd", "race", {"b": "2", "a": "1"}, idmpauto="producer") == hashed
        assert await call("xcfgset", "race", idmp_duration=60, idmp_maxsize=50)
        await call("xreadgroup", "riders", "alice", {"race": ">"})
        assert await call("xnack", "race", "riders", "FAIL", first) == 1
        claimed = await call(
            "xreadgroup", "riders", "bob", {"race": ">"}, claim_min_idle_time=0, count=1
        )
        assert entries(claimed, "race")[0][0] == first
        assert await call("xackdel", "race", "riders", first, "1-1") == [1, -1]
        assert await call("xlen", "race") == 1

    play(scenario)


def test_limits_over_a_whole_reply(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        for i in range(1, 6):
            await call("xadd", "a", {"n": i}, id=f"{i}-0")
            await call("xadd", "b", {"n": i}, id=f"{i}-0")
        capped = await call("xread", {"a": "0", "b": "0"}, max_count=7)
        assert (len(entries(capped, "a")), len(entries(capped, "b"))) == (5, 2)
        small = await call("xread", {"a": "0", "b": "0"}, max_size=1)
        assert (len(entries(small, "a")), len(entries(small, "b"))) == (1, 0)

    play(scenario)


def test_the_commands_around_streams(play: Callable[..., None]) -> None:
    async def scenario(call: Call) -> None:
        assert await call("ping")
        assert await call("set", "lock", "me", nx=True, px=60000)
        assert await call("get", "lock") == "me"
        await call("xadd", "race", F4, id="1-1")
        assert await call("type", "race") == "stream"
        assert await call("expire", "race", 100)
        assert 0 < await call("ttl", "race") <= 100
        assert sorted(await call("keys", "*")) == ["lock", "race"]
        info = await call("info")
        assert info["redis_version"].startswith("8.")
        assert await call("config_get", "stream-node-max-entries")
        assert await call("client_id") > 0
        assert "xadd" in await call("command")
        assert await call("delete", "race", "lock") == 2

    play(scenario)


def test_a_pipeline_is_a_transaction(forebay_server: ServerProcess) -> None:
    with redis.Redis(port=forebay_server.port, decode_responses=True) as client:
        with client.pipeline(transaction=True) as pipe:
            pipe.xadd("race", F4, id="1-1")
            pipe.xlen("race")
            pipe.xrange("race")
            assert pipe.execute() == ["1-1", 1, [("1-1", F4)]]
        with client.pipeline() as pipe:
            pipe.watch("race")
            client.xadd("race", F4, id="2-1")
            pipe.multi()
            pipe.xlen("race")
            with pytest.raises(redis.WatchError):
                pipe.execute()


def test_keyspace_events_reach_a_subscriber(forebay_server: ServerProcess) -> None:
    with redis.Redis(port=forebay_server.port, decode_responses=True) as client:
        client.config_set("notify-keyspace-events", "Kt")
        events = client.pubsub(ignore_subscribe_messages=True)
        events.subscribe("__keyspace@0__:race")
        events.get_message(timeout=5)
        client.xadd("race", F4, id="1-1")
        client.xgroup_create("race", "riders")
        heard = [events.get_message(timeout=5) for _ in range(2)]
        assert [message and message["data"] for message in heard] == ["xadd", "xgroup-create"]
        events.close()
        client.config_set("notify-keyspace-events", "")


def test_a_blocked_async_reader_is_woken(forebay_server: ServerProcess) -> None:
    async def scenario() -> None:
        make = redis.asyncio.Redis
        reader = make(port=forebay_server.port, decode_responses=True)
        writer = make(port=forebay_server.port, decode_responses=True)
        waiting = asyncio.create_task(reader.xread({"race": "$"}, block=20_000))
        async with asyncio.timeout(PATIENCE_S):
            while (await writer.info("clients"))["blocked_clients"] == 0:
                await asyncio.sleep(PAUSE_S)
        await writer.xadd("race", F4, id="7-7")
        assert entries(await waiting, "race") == [("7-7", F4)]
        await reader.aclose()
        await writer.aclose()

    asyncio.run(scenario())
