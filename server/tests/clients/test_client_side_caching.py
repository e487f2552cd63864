"""redis-py's client side caching: reads come from its cache until another client writes."""

from __future__ import annotations

import redis
from redis.cache import CacheConfig

from testkit.servers import ServerProcess
from testkit.waiting import wait_until


def test_a_cached_value_is_read_again_after_another_client_changed_it(
    forebay_server: ServerProcess,
) -> None:
    port = forebay_server.port
    with (
        redis.Redis(
            port=port, protocol=3, decode_responses=True, cache_config=CacheConfig()
        ) as caching,
        redis.Redis(port=port, decode_responses=True) as writer,
    ):
        cache = caching.get_cache()
        assert cache is not None
        writer.set("cached", "one")
        assert caching.get("cached") == "one"
        assert cache.size == 1
        calls = writer.info("commandstats")["cmdstat_get"]["calls"]
        assert caching.get("cached") == "one"
        assert writer.info("commandstats")["cmdstat_get"]["calls"] == calls
        writer.set("cached", "two")
        wait_until("the new value", lambda: caching.get("cached") == "two")
        writer.flushall()
        wait_until("no value", lambda: caching.get("cached") is None)
