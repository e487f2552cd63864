"""The AOF goes to a real redis-server and comes back: the half of R11 that is about AOF.

    out    Forebay writes an AOF (increments; after a base of commands or an RDB base)
           --> redis-check-aof and redis-server load it
    in     redis-server writes one, with or without a rewrite
           --> Forebay loads it, appends to it --> redis-server loads that again

On both sides DEBUG DIGEST and the whole reply of XINFO STREAM FULL must be equal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from forebay.commands.admin.digest import keyspace_digest
from forebay.errors import ForebayError
from forebay.persistence.aof.writer import AofWriter
from forebay.persistence.files import Disk
from reliability import rdb_goals
from reliability.aof_life import Life, unheard
from reliability.goals import Outcome
from reliability.redis_judge import check_aof, put_files, redis_on
from testkit.random_keyspace import fill
from testkit.recovery import NAME, FailedCommandError, Recovery
from testkit.resp import RawClient
from testkit.waiting import info_field, wait_until

#: The facts that both servers report about a stream, a group and a consumer.
STREAM_FACTS = (b"length", b"last-generated-id", b"max-deleted-entry-id", b"entries-added")
GROUP_FACTS = (b"name", b"last-delivered-id", b"entries-read", b"pending")
CONSUMER_FACTS = (b"name", b"pending")

Run = Callable[..., Any]


def exchange(n: int, seed: int, scratch: Path) -> Outcome:
    """Random keyspaces, one half each way."""
    outcome = Outcome()
    dice = Random(seed)
    for number in range(n):
        case_seed = dice.getrandbits(32)
        way = (outward, inward)[number % 2]
        folder = Path(tempfile.mkdtemp(dir=scratch))
        outcome.n += 1
        try:
            problem = way(Random(case_seed), folder)
        except (ForebayError, FailedCommandError, RuntimeError, AssertionError) as error:
            problem = str(error)
        if problem:
            outcome.failures.append(f"{way.__name__}, keyspace {case_seed}: {problem}")
    return outcome


def both_kinds(n: int, seed: int, scratch: Path) -> Outcome:
    """R11 as a whole: this many keyspaces as RDB files, and as many as AOFs."""
    snapshots = rdb_goals.exchange(n, seed, scratch)
    aofs = exchange(n, seed, scratch)
    return Outcome(
        snapshots.n + aofs.n,
        snapshots.failures + aofs.failures,
        {**snapshots.figures, "snapshots": snapshots.n, "aofs": aofs.n},
    )


# -- the two ways -------------------------------------------------------------------


def outward(dice: Random, folder: Path) -> str:
    """Load Forebay's AOF in a redis-server; returns what is wrong, or nothing."""
    life = Life(dice)
    fill(life.run, dice)
    if dice.random() < 0.7:
        life.rewrite()
        fill(life.run, dice)
    if dice.random() < 0.7:
        life.aof.drop_history()
    put_files(life.disk.files(), folder)
    problem = check_aof(folder)
    if problem:
        return problem
    with redis_on(folder) as redis:
        return difference(redis, life.client, keyspace_digest(life.engine.keyspace).hex())


def inward(dice: Random, folder: Path) -> str:
    """Load a redis-server's AOF in Forebay and then, after more writes, in a redis-server again."""
    preamble = dice.choice(("yes", "no"))
    with redis_on(folder, "--aof-use-rdb-preamble", preamble) as redis:
        fill(redis, dice)
        if dice.random() < 0.6:
            rewrite_there(redis)
            fill(redis, dice)
        # Redis 7.0 does not log how many entries a delivery read, and its XCLAIM makes no consumer
        # that gets nothing: compare with the data that it loads from its own AOF, without idle
        # consumers.
        assert redis("DEBUG", "LOADAOF") == "OK"
        recovery = Recovery(Disk(), str(folder / "appendonlydir")).run()
        problem = difference(redis, recovery.client, digest_of(recovery), idle=False)
    return problem or there_again(recovery, folder, dice)


def there_again(recovery: Recovery, folder: Path, dice: Random) -> str:
    """Append to what Redis wrote; Redis must load it, and so must Forebay."""
    aof = AofWriter(recovery.disk, recovery.loader.folder, NAME, unheard)
    aof.resume(recovery.loader.resume())
    effects = recovery.engine.effects
    fill(recovery.client, dice, keys=2)
    aof.append(effects.out, effects.ends)
    aof.sync()
    aof.close()
    problem = check_aof(folder)
    if problem:
        return f"after an append: {problem}"
    again = Recovery(Disk(), recovery.loader.folder).run()
    if digest_of(again) != digest_of(recovery):
        return "what Forebay wrote after the AOF of Redis does not come back"
    with redis_on(folder) as redis:
        return difference(redis, recovery.client, digest_of(recovery), idle=False)


def rewrite_there(redis: RawClient) -> None:
    """Run BGREWRITEAOF and wait for its end."""
    redis("BGREWRITEAOF")
    fields = ("aof_rewrite_scheduled", "aof_rewrite_in_progress")
    wait_until("the rewrite ends", lambda: not any(info_field(redis, name) for name in fields))


# -- comparing ----------------------------------------------------------------------


def digest_of(recovery: Recovery) -> str:
    return keyspace_digest(recovery.keyspace).hex()


def difference(redis: Run, forebay: Run, digest: str, *, idle: bool = True) -> str:
    """The facts that the two servers report differently."""
    theirs = redis("DEBUG", "DIGEST")
    if theirs != digest:
        return f"digests differ: redis-server {theirs}, Forebay {digest}"
    for database in range(16):
        redis("SELECT", database)
        forebay("SELECT", database)
        for key in sorted(redis("KEYS", "*")):
            left, right = facts(redis, key, idle=idle), facts(forebay, key, idle=idle)
            if left != right:
                return f"{key!r} differs: redis-server {left}, Forebay {right}"
    return ""


def facts(run: Run, key: bytes, *, idle: bool) -> Any:
    """The facts about a key beyond its digest; ``idle``: also those of idle consumers."""
    if run("TYPE", key) != "stream":
        return run("PEXPIRETIME", key)
    stream = pairs(run("XINFO", "STREAM", key, "FULL", "COUNT", "0"))
    groups = [pairs(group) for group in stream[b"groups"]]
    found = [stream[name] for name in STREAM_FACTS]
    for group in groups:
        found.append([group[name] for name in GROUP_FACTS])
        consumers = [pairs(consumer) for consumer in group[b"consumers"]]
        shown = [consumer for consumer in consumers if consumer[b"pending"] or idle]
        found += [[consumer[name] for name in CONSUMER_FACTS] for consumer in shown]
    return [run("PEXPIRETIME", key), *found]


def pairs(flat: list[Any]) -> dict[bytes, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
