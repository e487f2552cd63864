"""R4 with real processes: a server starts on a torn AOF, and its data is checked.

The expected data comes from the same load in this process, which aof_goals.py has compared
with the history; this module only checks that the server does the same.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from random import Random

from forebay.commands.admin.digest import keyspace_digest
from reliability.aof_goals import TORN_BYTES, Torn, foreign_tail, torn_tails
from reliability.goals import Outcome
from reliability.processes import start
from reliability.redis_judge import put_files
from testkit.forgetful_disk import ForgetfulDisk
from testkit.recovery import Recovery

#: One restart for this many tails in this process, and no more than a thousand.
TAILS_PER_RESTART = 20
MOST_RESTARTS = 1000


def tails_and_restarts(n: int, seed: int, scratch: Path) -> Outcome:
    """R4 as a whole."""
    outcome = torn_tails(n, seed, scratch)
    restarts = restarts_on_torn_aofs(min(MOST_RESTARTS, n // TAILS_PER_RESTART), seed, scratch)
    outcome.count("restarts", restarts.n)
    outcome.n += restarts.n
    outcome.failures += restarts.failures
    return outcome


def restarts_on_torn_aofs(n: int, seed: int, scratch: Path) -> Outcome:
    """Start a server on AOFs that are torn, or have zeros or garbage after them."""
    outcome = Outcome()
    dice = Random(seed)
    torn = Torn(dice, TORN_BYTES)
    for number in range(n):
        at = len(torn.data) - dice.randint(0, TORN_BYTES)
        tail = b"" if number % 2 else foreign_tail(dice, number // 2, dice.randint(1, 4096))[1]
        outcome.n += 1
        problem = restart(torn, torn.data[:at] + tail, scratch)
        if problem:
            what = f"torn at byte {at}, {len(tail)} other bytes after it (seed {seed})"
            outcome.failures.append(f"{what}: {problem}")
    return outcome


def restart(torn: Torn, data: bytes, scratch: Path) -> str:
    """One start; returns what is wrong with it, or nothing."""
    files = torn.files | {torn.path: data}
    expected = keyspace_digest(Recovery(ForgetfulDisk(files)).run().keyspace).hex()
    folder = Path(tempfile.mkdtemp(dir=scratch))
    put_files(files, folder)
    try:
        server = start("forebay", folder, "--appendonly", "yes")
        try:
            client = server.client(unix=True)
            with client:
                found = client("DEBUG", "DIGEST")
        finally:
            server.stop()
    except RuntimeError as error:
        return f"does not start: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return "" if found == expected else f"digest {found} instead of {expected}"
