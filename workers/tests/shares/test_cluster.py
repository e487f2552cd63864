"""A Redis Cluster: slots that move, and what one transaction cannot do."""

from __future__ import annotations

from typing import Any

import pytest

from forebay_workers import App, ConfigError, Partitioned, Retry
from forebay_workers.clock import RealClock
from forebay_workers.servers.cluster import Cluster, pieces
from testkit.clusters import SlotMove
from workers.tests.support.target import ClusterTarget, until, working

URL = "redis+cluster://127.0.0.1:1"
ORDERS = Partitioned("orders", 4, by="customer")


def test_the_server_computes_the_partition_of_a_key_as_we_do(cluster: ClusterTarget) -> None:
    for key in ("ann", "customer-42", "{ann}:basket", "zoë"):
        slot = cluster.client.execute_command("CLUSTER KEYSLOT", key, target_nodes="random")
        assert Partitioned("s", 64).number(key.encode()) == slot % 64


@pytest.mark.parametrize(
    ("stream", "options", "sentence"),
    [
        ("s", {"to": "t"}, "to='t' must be in the slot of 's'.*Name it '{s}:t'"),
        ("s", {"dead": "t"}, "dead='t' must be in the slot of 's'"),
        ("s", {"to": ORDERS}, "to='orders' cannot be partitioned, because 's' is not"),
        (ORDERS, {"dead": "t"}, "Leave dead= out"),
        (ORDERS, {"to": "t"}, "Use Partitioned\\('t', 4\\)"),
        (ORDERS, {"to": Partitioned("t", 8)}, "must have 4 partitions like 'orders'"),
    ],
)
def test_what_one_transaction_cannot_hold_is_refused_when_it_is_declared(
    stream: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):

        @App(URL).on(stream, **options)
        async def handle(fields: dict) -> None: ...


@pytest.mark.parametrize("url", ["redis+cluster://", "redis+cluster://h", "redis+cluster://h:x"])
def test_a_url_without_nodes_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="does not name nodes"):
        Cluster(url, RealClock())


def test_a_transaction_is_one_piece() -> None:
    commands = [("GET", "a"), ("MULTI",), ("SET", "b", 1), ("EXEC",), ("XINFO", "GROUPS", "c")]
    found = [(piece.at, len(piece.commands)) for piece in pieces(commands)]
    assert found == [(0, 1), (1, 3), (4, 1)]


async def test_plain_streams_do_all_on_a_cluster(cluster: ClusterTarget) -> None:
    app = cluster.app()
    seen: list[str] = []

    @app.on("s", to="{s}:done", concurrency=1, retry=Retry(1))
    async def handle(fields: dict) -> dict:
        if fields["n"] == "bad":
            raise ValueError("bad")
        async with app.once(f"{{sum}}:{fields['n']}") as once:
            if once.first:
                once.also("INCR", "sum")
        return fields

    @app.on("other")
    async def handle_other(fields: dict) -> None:
        seen.append(fields["n"])

    async with working(app):
        for n in ("1", "2", "bad", "1"):
            await app.publish("s", {"n": n})
        await app.publish("s", {"n": "3"}, delay=0.1)
        for _ in range(2):
            await app.publish("other", {"n": "once"}, once="o")
        await until("results", lambda: cluster.client.xlen("{s}:done") == 4)
        await until("a letter", lambda: cluster.client.xlen("{s}:dead") == 1)
        await until("the other", lambda: seen == ["once"])
        assert cluster.client.get("sum") == "3"
        with pytest.raises(ConfigError, match="must be in the same slot"):
            app.once("x").also("INCR", "elsewhere")
        assert await app.dead_letters("s").redrive(lambda _: True) == 1
        await until("it failed again", lambda: cluster.client.xlen("{s}:dead") == 1)


async def test_a_slot_that_moves_takes_its_partition_along(cluster: ClusterTarget) -> None:
    app, seen = cluster.app(lease=60), []

    @app.on(ORDERS, to=Partitioned("receipts", 4, by="customer"))
    async def handle(fields: dict) -> dict:
        seen.append((fields["customer"], int(fields["n"])))
        return fields

    keys = [f"key-{n}" for n in range(8)]

    async def publish(n: int) -> None:
        await app.publish_many(ORDERS, [{"customer": key, "n": n} for key in keys])

    async with working(app):
        await publish(0)
        await until("all", lambda: len(seen) == 8)
        move = SlotMove(cluster.client, ORDERS.stream(2))
        await publish(1)
        move.move(ORDERS.stream(2))
        # Keys of the slot are on both nodes now: a transaction has to wait.
        await publish(2)
        move.finish()
        await publish(3)
        await until("the rest", lambda: len(seen) == 32)
        done = [f"receipts:{{{n}}}" for n in range(4)]
        await until("results", lambda: sum(map(cluster.client.xlen, done)) == 32)
    for key in keys:
        assert [n for name, n in seen if name == key] == [0, 1, 2, 3]
