"""The race itself: who rides, how a checkpoint is reported, who reads the reports.

    producers (one process a checkpoint crew)     consumers of the group "timing"
      XADD race:france * rider ... speed ...  -->   XREADGROUP, work, XACK
      with an idempotency key, sent twice           alice ... bob (will be killed)

Everything here is plain redis-py and would run against any Redis just as well.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from multiprocessing.sharedctypes import Synchronized
from typing import Any

import redis

STREAM, GROUP = "race:france", "timing"
RIDERS = ("Castilla", "Norem", "Prickett", "Royce", "Sam-Bodden", "Henshaw", "Wood", "Jones")
CHECKPOINTS = 5
WORK_S = 0.002
BATCH = 20


def connect(port: int) -> Any:
    """A client whose replies are text; RESP2, so that a read is a plain list."""
    return redis.Redis(port=port, protocol=2, decode_responses=True)


def report_checkpoint(port: int, checkpoint: int, laps: int) -> None:
    """One crew reports every rider that passes; a lost reply makes it send again."""
    crew, dice = connect(port), random.Random(checkpoint)
    for lap in range(laps):
        for position, rider in enumerate(dice.sample(RIDERS, len(RIDERS)), 1):
            fields = {
                "rider": rider,
                "speed": f"{dice.uniform(26, 34):.1f}",
                "position": position,
                "location_id": checkpoint,
            }
            name = (f"crew-{checkpoint}", f"lap-{lap}-{rider}".encode())
            first = crew.xadd(STREAM, fields, idmp=name)
            if dice.random() < 0.1:  # the network "failed": the crew cannot know, and repeats
                assert crew.xadd(STREAM, fields, idmp=name) == first
        time.sleep(0.01)


def keep_time(port: int, name: str, handled: Synchronized[int], goal: int) -> None:
    """A consumer: new reports first, and what others left behind when there are none."""
    client = connect(port)
    while handled.value < goal:
        batch = client.xreadgroup(GROUP, name, {STREAM: ">"}, count=BATCH, block=100)
        reports = [entry for _, entries in batch or [] for entry in entries]
        if not reports:
            reports = client.xautoclaim(STREAM, GROUP, name, min_idle_time=700, count=BATCH)[1]
        for entry_id, _ in reports:
            time.sleep(WORK_S)
            with handled.get_lock():
                handled.value += client.xack(STREAM, GROUP, entry_id)


def podium(client: Any) -> list[tuple[str, float]]:
    """The fastest three on average over all reports, read straight from the stream."""
    total: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for _, fields in client.xrange(STREAM):
        total[fields["rider"]] += round(float(fields["speed"]) * 10)
        seen[fields["rider"]] += 1
    means = {rider: total[rider] / seen[rider] / 10 for rider in total}
    return sorted(means.items(), key=lambda item: -item[1])[:3]
