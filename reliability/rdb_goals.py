"""R6, R7 and R11: snapshots and payloads that are damaged, hostile, or from another server.

R6   a file with one bit flipped, or cut anywhere, is refused with an offset
R7   a payload with changed bytes, loaded without checking its checksum, is refused or
     becomes a sound value, which survives random commands; loading never takes long or
     much memory
R11  each server loads the files of the other: DEBUG DIGEST is the same, and after a
     round trip so is the data that the digest does not see
"""

from __future__ import annotations

import re
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from forebay.commands.admin.digest import keyspace_digest
from forebay.core import check
from forebay.core.keyspace import Keyspace, Value
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb.format import VERSIONS
from forebay.persistence.rdb.payload import dump, restore
from reliability.goals import Outcome
from testkit.engine_client import EngineClient
from testkit.oracle import find, start_redis
from testkit.portrait import of_value, portrait
from testkit.random_keyspace import fill
from testkit.rdb_files import loaded, saved
from testkit.resp import RawClient

OFFSET = re.compile(r"at offset \d+")
#: How many of each kind are made; most damaged ones are refused long before their end.
FILES = 4
PAYLOADS = 60
#: CPU time: it does not depend on how busy the machine is.
HANG_S = 1.0
GROWTH_BYTES = 64 << 20
COMMANDS_AFTER = 20


# -- R6 ---------------------------------------------------------------------------


def damaged_snapshots(n: int, seed: int, scratch: Path) -> Outcome:
    """``n`` files, each with a bit flipped or its end cut off."""
    del scratch
    dice, outcome = Random(seed), Outcome()
    files = [snapshot(dice, version) for version in VERSIONS for _ in range(FILES)]
    for _ in range(n):
        data = dice.choice(files)
        at = dice.randrange(len(data))
        if dice.random() < 0.2:
            what, damaged = f"cut at {at}", data[:at]
        else:
            bit = dice.randrange(8)
            what, damaged = f"bit {bit} of byte {at}", flipped(data, at, bit)
        outcome.n += 1
        outcome.count(what.partition(" ")[0] + "s")
        if (fault := accepted(damaged)) != "":
            outcome.failures.append(f"{what} of {len(data)} bytes: {fault}")
    return outcome


def snapshot(dice: Random, version: str) -> bytes:
    """A small random keyspace as a file."""
    client = EngineClient()
    fill(client, dice, keys=3, newest=True)
    return saved(client.engine.keyspace, version=version, compress=dice.random() < 0.7)


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """The data with one bit changed."""
    copy = bytearray(data)
    copy[at] ^= 1 << bit
    return bytes(copy)


def accepted(data: bytes) -> str:
    """Empty if a file is refused as it should be; otherwise what happened."""
    try:
        loaded(data)
    except CorruptDataError as problem:
        return "" if OFFSET.search(str(problem)) else f"refused without an offset: {problem}"
    return "it was loaded"


# -- R7 ---------------------------------------------------------------------------


def hostile_payloads(n: int, seed: int, scratch: Path) -> Outcome:
    """``n`` payloads with some bytes changed; accepted ones are used."""
    del scratch
    dice, outcome = Random(seed), Outcome()
    payloads = sound_payloads(dice)
    before = peak_bytes()
    slowest_s = 0.0
    for number in range(n):
        data = mutated(dice, dice.choice(payloads), dice.choice(payloads))
        begin = time.process_time()
        fault = fate(data, Random(f"{seed} {number}"), outcome)
        took_s = time.process_time() - begin
        slowest_s = max(slowest_s, took_s)
        outcome.n += 1
        if took_s > HANG_S:
            outcome.failures.append(f"{took_s:.1f} s for {data.hex()}")
        if fault:
            outcome.failures.append(f"{fault}: {data.hex()}")
    growth = peak_bytes() - before
    outcome.figures |= {"slowest_ms": round(slowest_s * 1000), "growth_mb": growth >> 20}
    if growth > GROWTH_BYTES:
        outcome.failures.append(f"memory grew by {growth >> 20} MB")
    return outcome


def peak_bytes() -> int:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def sound_payloads(dice: Random) -> list[bytes]:
    """Payloads of every type that Forebay writes, and some that only Redis does."""
    found = [bytes.fromhex(text) for text in PACKED]
    while len(found) < PAYLOADS:
        client = EngineClient(stream_node_max_entries=dice.choice((3, 10, 100)))
        fill(client, dice, keys=2, newest=True)
        version = dice.choice(list(VERSIONS))
        for db in client.engine.keyspace.databases:
            for value in db.values.values():
                payload = dump(value, version, compress=dice.random() < 0.2)
                if len(payload) < 6000:
                    found.append(payload)
    return found


#: Lists and sets in the packed forms: listpack, ziplist, quicklists, intset.
PACKED = (
    "1201020f0f00000003008161028162020301ff0a00dca1e67d50055048",
    "0b1404000000030000000100000002000000e09304000a00742f3348486c6a39",
    "14405e5e0000000500816102826262030201f290eefe04e046787878787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "78787878787878787848ff00000000000000000000",
    "0a4062620000001800000005000001610302626204f302f090eefe05404678787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "7878787878787878787878787878ff00000000000000000000",
    "0e024062620000001800000005000001610302626204f302f090eefe054046787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "787878787878787878787878787878ff4062620000001800000005000001610302626204f302f090eefe05"
    "40467878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "7878787878787878787878787878787878787878787878787878787878ff00000000000000000000",
    "120202405e5e0000000500816102826262030201f290eefe04e04678787878787878787878787878787878"
    "78787878787878787878787878787878787878787878787878787878787878787878787878787878787878"
    "787878787878787878787848ff0105706c61696e00000000000000000000",
)


def mutated(dice: Random, payload: bytes, other: bytes) -> bytes:
    """A payload with a few bytes changed, added, removed or swapped before its footer."""
    body, foot = bytearray(payload[:-10]), payload[-10:]
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randrange(len(body)) if body else 0
        change = dice.random()
        if change < 0.45:
            body[at : at + 1] = bytes(
                [dice.choice(EDGES) if dice.random() < 0.5 else dice.randrange(256)]
            )
        elif change < 0.65:
            body[at : at + 1] = bytes([(body[at] if body else 0) ^ 1 << dice.randrange(8)])
        elif change < 0.75:
            del body[at : at + dice.choice((1, 1, 8, 16, 25))]
        elif change < 0.85:
            size = dice.choice((1, 1, 8, 16, 25))
            body[at:at] = body[at : at + size] if dice.random() < 0.5 else dice.randbytes(size)
        elif change < 0.95:
            start, size = dice.randrange(len(other)), dice.choice((1, 4, 16, 40))
            body[at : at + size] = other[start : start + size]
        else:
            body[at : at + 9] = dice.choice(LENGTHS)
    return bytes(body) + foot


EDGES = (0, 1, 2, 3, 63, 64, 127, 128, 129, 192, 195, 240, 241, 244, 245, 254, 255)
LENGTHS = (
    b"\x80\xff\xff\xff\xff",
    b"\x80\x7f\xff\xff\xff",
    b"\x81\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\x81\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\xc3\x02\x80\x40\x00\x00\x00",
)


def fate(data: bytes, dice: Random, outcome: Outcome) -> str:
    """What is wrong with the handling of a payload; empty if nothing is."""
    try:
        value = restore(data, skip_checks=True)
    except CorruptDataError as problem:
        outcome.count("refused")
        return "" if OFFSET.search(str(problem)) else f"refused without an offset: {problem}"
    except Exception as fault:  # noqa: BLE001 - whatever it is, it is a failure
        return f"{fault!r} while reading"
    outcome.count("accepted")
    try:
        sound(value)
        use(value, dice)
    except Exception as fault:  # noqa: BLE001
        return f"{fault!r} while using"
    return ""


def sound(value: Value) -> None:
    """Whether a value follows the rules of its kind, and survives a round trip as a payload."""
    if isinstance(value, Stream):
        check.check_stream(value)
    else:
        assert isinstance(value, bytes) or value, "an empty collection"
    assert of_value(restore(dump(value, "8.8")), times=True) == of_value(value, times=True)


def use(value: Value, dice: Random) -> None:
    """Random commands on a key that holds the value."""
    client = EngineClient()
    db = client.engine.keyspace.databases[0]
    db.put(b"k", value)
    for _ in range(COMMANDS_AFTER):
        client(*command(dice, value))
    check.check_keyspace(client.engine.keyspace)


def command(dice: Random, value: Value) -> list[Any]:
    """One command that suits the value."""
    if not isinstance(value, Stream):
        return list(dice.choice(PLAIN_COMMANDS))
    return dice.choice(STREAM_COMMANDS)(dice, value)


PLAIN_COMMANDS = (
    ("APPEND", "k", "x"),
    ("GET", "k"),
    ("RPUSH", "k", "x"),
    ("LPOP", "k"),
    ("LRANGE", "k", 0, -1),
    ("SADD", "k", "x"),
    ("SREM", "k", "1", "a"),
    ("SMEMBERS", "k"),
    ("COPY", "k", "k2", "REPLACE"),
    ("DUMP", "k"),
)


def some_id(dice: Random, stream: Stream) -> str:
    """An ID that may be there."""
    choices = [(stream.first_ms, stream.first_seq), (stream.last_ms, stream.last_seq), (1, 1)]
    ms, seq = dice.choice(choices)
    return f"{ms}-{max(0, seq + dice.choice((-1, 0, 0, 1))) % 2**64}"


def some_group(dice: Random, stream: Stream) -> bytes:
    """A group that is probably there."""
    names = [name for name, _ in stream.groups.items()]
    return dice.choice([*names, b"g"])


StreamCommand = Callable[[Random, Stream], list[Any]]
STREAM_COMMANDS: tuple[StreamCommand, ...] = (
    lambda dice, stream: ["XADD", "k", "*", "f", "v"],
    lambda dice, stream: ["XADD", "k", "*", "other", "v", "12", "34"],
    lambda dice, stream: ["XADD", "k", "MAXLEN", "~", 5, "*", "f", "v"],
    lambda dice, stream: ["XADD", "k", "IDMP", "p", "i", "*", "f", "v"],
    lambda dice, stream: ["XLEN", "k"],
    lambda dice, stream: ["XRANGE", "k", "-", "+"],
    lambda dice, stream: ["XREVRANGE", "k", "+", "-", "COUNT", 5],
    lambda dice, stream: ["XREAD", "COUNT", 10, "STREAMS", "k", some_id(dice, stream)],
    lambda dice, stream: ["XDEL", "k", some_id(dice, stream), some_id(dice, stream)],
    lambda dice, stream: ["XDELEX", "k", "DELREF", "IDS", 1, some_id(dice, stream)],
    lambda dice, stream: ["XTRIM", "k", "MAXLEN", dice.choice("=~"), dice.choice((0, 2, 50))],
    lambda dice, stream: ["XTRIM", "k", "MINID", dice.choice("=~"), some_id(dice, stream)],
    lambda dice, stream: ["XSETID", "k", some_id(dice, stream)],
    lambda dice, stream: ["XINFO", "STREAM", "k", "FULL"],
    lambda dice, stream: ["XINFO", "GROUPS", "k"],
    lambda dice, stream: ["XINFO", "CONSUMERS", "k", some_group(dice, stream)],
    lambda dice, stream: ["XGROUP", "CREATE", "k", "g", "0"],
    lambda dice, stream: ["XGROUP", "DESTROY", "k", some_group(dice, stream)],
    lambda dice, stream: ["XGROUP", "SETID", "k", some_group(dice, stream), some_id(dice, stream)],
    lambda dice, stream: ["XGROUP", "DELCONSUMER", "k", some_group(dice, stream), "alice"],
    lambda dice, stream: [
        *("XREADGROUP", "GROUP", some_group(dice, stream), dice.choice(("alice", "bob"))),
        *("COUNT", 3, "STREAMS", "k", dice.choice((">", "0"))),
    ],
    lambda dice, stream: ["XACK", "k", some_group(dice, stream), some_id(dice, stream)],
    lambda dice, stream: ["XPENDING", "k", some_group(dice, stream), "-", "+", 10],
    lambda dice, stream: [
        *("XCLAIM", "k", some_group(dice, stream), "bob", 0, some_id(dice, stream), "FORCE"),
    ],
    lambda dice, stream: ["XAUTOCLAIM", "k", some_group(dice, stream), "bob", 0, "0"],
    lambda dice, stream: [
        *("XNACK", "k", some_group(dice, stream), "FAIL", "IDS", 1, some_id(dice, stream)),
    ],
    lambda dice, stream: ["XCFGSET", "k", "IDMP-MAXSIZE", 5],
    lambda dice, stream: ["COPY", "k", "k2", "REPLACE"],
    lambda dice, stream: ["DUMP", "k"],
)


# -- R11 --------------------------------------------------------------------------


def exchange(n: int, seed: int, scratch: Path) -> Outcome:
    """``n`` random keyspaces, each from Forebay to redis-server and back, and the other way."""
    outcome = Outcome()
    server = start_redis(scratch / "redis")
    try:
        with server.client(unix=True) as redis:
            for number in range(n):
                dice = Random(f"{seed} {number}")
                outcome.n += 1
                for fault in one_exchange(dice, redis, server.directory / "dump.rdb"):
                    outcome.failures.append(f"keyspace {number}: {fault}")
    finally:
        server.stop()
    return outcome


def one_exchange(dice: Random, redis: RawClient, path: Path) -> list[str]:
    """One keyspace there and back, then one of Redis's own; returns what went wrong."""
    client = EngineClient(now_ms=int(time.time() * 1000))
    newest = dice.random() < 0.5
    fill(client, dice, newest=newest)
    keyspace = client.engine.keyspace
    faults = []
    redis("CONFIG", "SET", "rdbcompression", dice.choice(("yes", "no")))
    path.write_bytes(saved(keyspace, compress=dice.random() < 0.7))
    faults += rejected_by_check(path)
    if (reply := redis("DEBUG", "RELOAD", "NOSAVE")) != "OK":
        return [*faults, f"redis-server did not load it: {reply}"]
    faults += different("after loading into redis-server", keyspace, redis)
    redis("SAVE")
    back = loaded(path.read_bytes()).keyspace
    check.check_keyspace(back)
    # Redis 7.0 cannot return what it does not know; the rest it must return.
    if not newest and portrait(back) != portrait(keyspace):
        faults.append("it came back from redis-server as something else")
    redis("FLUSHALL")
    fill(redis, dice)
    redis("SAVE")
    own = loaded(path.read_bytes()).keyspace
    check.check_keyspace(own)
    return faults + different("after loading from redis-server", own, redis)


def rejected_by_check(path: Path) -> list[str]:
    """The complaint of redis-check-rdb about a file."""
    done = subprocess.run([find("redis-check-rdb"), path], capture_output=True, text=True)
    return [] if done.returncode == 0 else [f"redis-check-rdb: {done.stdout[-300:]}"]


def different(when: str, keyspace: Keyspace, redis: RawClient) -> list[str]:
    """A sentence if the two do not hold the same data."""
    ours, theirs = keyspace_digest(keyspace).hex(), str(redis("DEBUG", "DIGEST"))
    return [] if ours == theirs else [f"{when} the digests are {ours} and {theirs}"]
