"""The page about moving from Redis and back, pasted into a shell while a producer runs."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable

import redis

from testkit.nodes import Node, wait_for_replicas
from testkit.pages import blocks
from testkit.places import ROOT

Start = Callable[..., Node]
HEADING = "Move from Redis to Forebay, and back"


class Producer(threading.Thread):
    """Adds numbered entries to whichever of two servers accepts them, until it must stop."""

    def __init__(self, nodes: list[Node]) -> None:
        super().__init__(daemon=True)
        self.clients = [redis.Redis(*node.address, retry=None) for node in nodes]
        self.acknowledged: list[int] = []
        self.is_done = False

    def run(self) -> None:
        """Add one entry after another; an entry that both refuse is tried again."""
        number = 0
        while not self.is_done:
            for client in self.clients:
                try:
                    client.xadd("moved", {"n": number})
                except redis.RedisError:
                    continue
                self.acknowledged.append(number)
                number += 1
                break


def test_the_page_moves_all_data_to_forebay_and_back_while_a_producer_writes(start: Start) -> None:
    theirs, ours = start("redis"), start("forebay")
    steps = [block for block in blocks(ROOT / "docs/operations.md") if block.heading == HEADING]
    assert len(steps) == 3
    theirs("XADD", "moved", "*", "n", "before")
    theirs("XGROUP", "CREATE", "moved", "g", "0")
    producer = Producer([theirs, ours])
    producer.start()
    ports = {"6379": str(theirs.address[1]), "6380": str(ours.address[1])}
    for step in steps:
        text = step.text
        for named, port in ports.items():
            text = text.replace(named, port)
        subprocess.run(["bash", "-e", "-c", text], check=True, timeout=60)
        seen = len(producer.acknowledged)
        while len(producer.acknowledged) < seen + 20:
            assert producer.is_alive()
    producer.is_done = True
    producer.join()
    wait_for_replicas(theirs, [ours])
    for node in (theirs, ours):
        entries = [int(fields[1]) for _, fields in node("XRANGE", "moved", "-", "+")[1:]]
        assert entries == producer.acknowledged, "every acknowledged entry, once, in its order"
    assert theirs.info("stats")["sync_full"] == "1"
    assert ours.info("stats")["sync_full"] == "0"
