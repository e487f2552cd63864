"""redis-py's Lock against Forebay: acquired, kept, released, lost; in threads and in coroutines."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
import redis.asyncio
from redis.exceptions import LockError, LockNotOwnedError

from testkit.servers import ServerProcess


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def protocol(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_a_lock_is_taken_kept_and_given_back(forebay_server: ServerProcess, protocol: int) -> None:
    with redis.Redis(port=forebay_server.port, protocol=protocol) as client:
        client.script_flush()
        lock, rival = client.lock("lock", timeout=10), client.lock("lock", timeout=10)
        assert lock.acquire(blocking=False)
        assert not rival.acquire(blocking=False)
        assert lock.extend(20)
        assert 29_000 < client.pttl("lock") <= 30_000
        assert lock.extend(5, replace_ttl=True)
        assert 4000 < client.pttl("lock") <= 5000
        assert lock.reacquire()
        assert 9000 < client.pttl("lock") <= 10_000
        lock.release()
        assert rival.acquire(blocking=False)
        with pytest.raises(LockError):
            lock.release()
        rival.release()
        assert client.exists("lock") == 0


def test_a_lock_that_another_has_taken_meanwhile_is_not_touched(
    forebay_server: ServerProcess, protocol: int
) -> None:
    with redis.Redis(port=forebay_server.port, protocol=protocol) as client:
        lock = client.lock("lock", timeout=10)
        lock.acquire()
        client.set("lock", "somebody else", px=10_000)
        for act in (lock.reacquire, lambda: lock.extend(1), lock.release):
            with pytest.raises(LockNotOwnedError):
                act()
        assert client.get("lock") == b"somebody else"


def test_threads_that_share_a_lock_never_meet_inside(
    forebay_server: ServerProcess, protocol: int
) -> None:
    with redis.Redis(port=forebay_server.port, protocol=protocol) as client:

        def work(_: int) -> None:
            with client.lock("lock", timeout=30, sleep=0.001):
                found = int(client.get("sum") or 0)
                client.set("sum", found + 1)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(40)))
        assert client.get("sum") == b"40"


def test_coroutines_use_the_same_lock(forebay_server: ServerProcess, protocol: int) -> None:
    async def run() -> None:
        async with redis.asyncio.Redis(port=forebay_server.port, protocol=protocol) as client:
            await client.script_flush()

            async def work() -> None:
                async with client.lock("lock", timeout=30, sleep=0.001) as lock:
                    found = int(await client.get("sum") or 0)
                    assert await lock.extend(1)
                    assert await lock.reacquire()
                    await client.set("sum", found + 1)

            await asyncio.gather(*(work() for _ in range(10)))
            assert await client.get("sum") == b"10"
            assert not await client.exists("lock")

    asyncio.run(run())


def test_a_lock_is_given_back_inside_a_transaction(
    forebay_server: ServerProcess, protocol: int
) -> None:
    with redis.Redis(port=forebay_server.port, protocol=protocol) as client:
        client.script_flush()
        pipe = client.pipeline(transaction=True)
        lock = pipe.lock("lock", timeout=5)
        lock.acquire()
        pipe.xadd("s", {"f": "v"}, id="1-1")
        lock.release()
        assert pipe.execute() == [True, b"1-1", 1]
        assert client.exists("lock") == 0


def test_a_script_of_ones_own_is_refused_with_a_reason(forebay_server: ServerProcess) -> None:
    with redis.Redis(port=forebay_server.port) as client:
        script = client.register_script("return redis.call('xlen', KEYS[1])")
        with pytest.raises(redis.ResponseError, match="is not supported: there is no Lua"):
            script(keys=["s"])
        assert client.ping()
