"""Workers and publishers through real failovers: Sentinel names the primary."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from forebay_workers import App, ConfigError, Patience, ServerError
from forebay_workers.servers.trouble import FAULTS
from testkit.nodes import REPLICATING, Node, nodes_in, wait_for_replicas
from testkit.sentinels import Sentinels
from testkit.servers import free_port
from workers.tests.support.target import until, working

SERVICE = "orders"


@dataclass
class Watched:
    """A primary, its replica, and three Sentinels."""

    primary: Node
    replica: Node
    sentinels: Sentinels

    @property
    def url(self) -> str:
        hosts = ",".join(f"{host}:{port}" for host, port in self.sentinels.addresses)
        return f"redis+sentinel://{hosts}/{SERVICE}"

    def strike(self, how: str) -> None:
        """The replica becomes primary; the old one is dead, or its replica."""
        wait_for_replicas(self.primary, [self.replica])
        mark = self.sentinels.mark()
        if how == "kill":
            self.primary.kill()
        else:
            self.sentinels.ask(0, "SENTINEL", "FAILOVER", SERVICE)
        self.sentinels.wait_for("+switch-master", mark)
        if how != "kill":  # until then the old one would accept messages that get lost
            self.sentinels.wait_until_known(SERVICE, replicas=1)

    def leader(self) -> Node:
        """The primary; on a busy machine a late Sentinel may undo a failover."""
        address = self.sentinels.primary_of(SERVICE)
        return self.primary if address == self.primary.address else self.replica


@pytest.fixture(params=REPLICATING)
def watched(request: pytest.FixtureRequest, server_root: Path) -> Iterator[Watched]:
    folder = server_root / f"watched-{free_port()}"
    with nodes_in(folder) as start, Sentinels(folder) as sentinels:
        primary, replica = start(request.param), start(request.param)
        replica.follow(primary)
        sentinels.monitor(SERVICE, primary.address)
        sentinels.wait_until_known(SERVICE, replicas=1)
        yield Watched(primary, replica, sentinels)


async def publish(app: App, *numbers: int) -> None:
    """Publish through an outage, as a caller would: repeat until it succeeds."""
    for n in numbers:
        while True:
            try:
                await app.publish("s", {"n": n})
                break
            except FAULTS:
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("how", ["kill", "failover"])
async def test_a_worker_follows_the_primary(watched: Watched, how: str) -> None:
    app, seen = App(watched.url, group="g"), set()

    @app.on("s")
    async def handler(fields: dict) -> None:
        seen.add(int(fields["n"]))

    async with working(app):
        await publish(app, *range(20))
        await until("before", lambda: seen == set(range(20)))
        await asyncio.to_thread(watched.strike, how)
        await publish(app, *range(20, 40))
        await until("after", lambda: seen >= set(range(20, 40)))
        new = watched.leader()
        await until("acknowledged", lambda: new("XPENDING", "s", "g")[0] == 0)
    assert seen == set(range(40))


async def test_sentinels_that_cannot_be_reached_are_one_sentence() -> None:
    app = App(f"redis+sentinel://127.0.0.1:{free_port()}/orders", patience=Patience(away_s=0.1))
    app.on("s")(_nothing)
    with pytest.raises(ServerError, match="no Sentinel can be reached that knows the primary"):
        await app.run()


async def _nothing(fields: dict) -> None:
    """A handler."""


@pytest.mark.parametrize("rest", ["h:port/orders", "h:26379/orders/db", "h:26379", "/orders"])
def test_a_url_of_sentinel_that_cannot_be_used_is_one_sentence(rest: str) -> None:
    with pytest.raises(ConfigError, match=r"^The URL 'redis\+sentinel://.* "):
        App(f"redis+sentinel://{rest}").server  # noqa: B018
