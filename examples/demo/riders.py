"""The race itself: its riders, the reports of a checkpoint, and their readers.

    producers (a process for each crew)           consumers of the group "timing"
      XADD race:france * rider ... speed ...  -->   XREADGROUP, work, XACK
      with an idempotency key, sent twice           alice ... bob (will be killed)

As in life, some reports are bad (a speed that is not a number) and some are late: a crew
without a signal keeps a report and sends it eight laps later, with its original time.

Everything here is plain redis-py and would also run against any Redis.
"""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import redis

STREAM, GROUP = "race:france", "timing"
RIDERS = ("Castilla", "Norem", "Prickett", "Royce", "Sam-Bodden", "Henshaw", "Wood", "Jones")
CHECKPOINTS = 5
LAP_S = 60
START = datetime(2026, 7, 4, 10, 0, tzinfo=UTC)
WORK_S = 0.002
BATCH = 20

BAD, LATE, REPEATED = 0.03, 0.05, 0.1
LATE_LAPS = 8
NO_SPEED = "out of range"


def connect(port: int) -> Any:
    """A client whose replies are text; RESP2, so that a read is a plain list."""
    return redis.Redis(port=port, protocol=2, decode_responses=True)


def report(checkpoint: int, lap: int, position: int, rider: str, dice: random.Random) -> Any:
    """The report of a crew when a rider passes."""
    passed = START + timedelta(seconds=lap * LAP_S + checkpoint * 10 + position)
    speed = f"{dice.uniform(26, 34):.1f}"
    return {
        "rider": rider,
        "speed": NO_SPEED if dice.random() < BAD else speed,
        "position": position,
        "location_id": checkpoint,
        "at": passed.isoformat(),
    }


def report_checkpoint(
    port: int, checkpoint: int, first_lap: int, laps: int, together: Barrier
) -> None:
    """One crew reports every rider that passes; a lost reply makes it send again."""
    crew, dice = connect(port), random.Random(checkpoint * 1000 + first_lap)
    kept: list[tuple[int, str, Any]] = []
    for lap in range(first_lap, first_lap + laps):
        together.wait()
        for position, rider in enumerate(dice.sample(RIDERS, len(RIDERS)), 1):
            key = f"lap-{lap}-{rider}"
            fields = report(checkpoint, lap, position, rider, dice)
            if dice.random() < LATE and lap + LATE_LAPS < first_lap + laps:
                kept.append((lap + LATE_LAPS, key, fields))
            else:
                send(crew, checkpoint, key, fields, dice.random() < REPEATED)
        for _, key, fields in [late for late in kept if late[0] == lap]:
            send(crew, checkpoint, key, fields, repeat=False)


def send(crew: Any, checkpoint: int, key: str, fields: Any, repeat: bool) -> None:
    """Add a report; if the network "fails", the crew cannot know the result, and adds it again."""
    name = (f"crew-{checkpoint}", key.encode())
    first = crew.xadd(STREAM, fields, idmp=name)
    if repeat:
        assert crew.xadd(STREAM, fields, idmp=name) == first


def keep_time(port: int, name: str, goal: int) -> None:
    """A consumer: new reports first; if there are none, reports that other consumers left."""
    client = connect(port)
    while True:
        batch = client.xreadgroup(GROUP, name, {STREAM: ">"}, count=BATCH, block=100)
        reports = [entry for _, entries in batch or [] for entry in entries]
        if not reports:
            reports = client.xautoclaim(STREAM, GROUP, name, min_idle_time=700, count=BATCH)[1]
        for entry_id, _ in reports:
            time.sleep(WORK_S)
            client.xack(STREAM, GROUP, entry_id)
        if not reports and all_done(client, goal):
            break


def all_done(client: Any, goal: int) -> bool:
    """Whether every report was delivered and acknowledged, by the server's counters."""
    (group,) = client.xinfo_groups(STREAM)
    return bool(group["entries-read"] == goal and group["pending"] == 0)
