"""The nodes of a stream are byte for byte those that redis-server makes for the same commands.

    commands --> redis-server --> DUMP --> nodes of the payload --+
            \\-> engine ----------------> nodes of the stream ----+--> equal

Only then can a dump or a replica link carry a node unchanged.  One case is left
out on purpose: when an exact MINID trims the last live entry of a node, before a
tombstone, redis-server keeps the node; Forebay removes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

import forebay
from testkit.engine_client import EngineClient
from testkit.resp import RawClient
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle

STREAMS = 40 if forebay.compiled() else 8
TYPE_STREAM_2 = 19
Node = tuple[bytes, bytes]

NAMES = [[b"f"], [b"f", b"g"], [b"g", b"f"], [b"12", b"-1"], [b""], [b"f", b"f"], [b"n" * 70]]
EDGES = [0, 7, 12, 13, 15, 16, 23, 24, 31, 32, 63, 64]
LENGTHS = [0, 1, 62, 63, 64, 126, 127, 128, 4094, 4095, 4096, 16378, 16379, 20_000]
LOOK_ALIKES = [b"-0", b"007", b"+1", b" 1", b"1e3", b"9223372036854775808", b"99999999999999999999"]


@pytest.fixture
def redis(redis_server: ServerProcess) -> Iterator[RawClient]:
    """A connection to the oracle; dumps are not compressed, node sizes are put back."""
    with redis_server.client(unix=True) as client:
        client("CONFIG", "SET", "rdbcompression", "no")
        yield client
        set_node_size(client, 4096, 100)


def set_node_size(redis: RawClient, node_bytes: int, entries: int) -> None:
    words = ["stream-node-max-bytes", str(node_bytes), "stream-node-max-entries", str(entries)]
    assert redis("CONFIG", "SET", *words) == "OK"


def engine(node_bytes: int, entries: int) -> EngineClient:
    return EngineClient(stream_node_max_bytes=node_bytes, stream_node_max_entries=entries)


# Reading nodes


def length_at(dump: bytes, at: int) -> tuple[int, int]:
    """A length of the dump format, and where it ends."""
    head = dump[at]
    if head < 64:
        return head, at + 1
    if head < 128:
        return (head & 63) << 8 | dump[at + 1], at + 2
    size = {0x80: 4, 0x81: 8}[head]
    return int.from_bytes(dump[at + 1 : at + 1 + size], "big"), at + 1 + size


def string_at(dump: bytes, at: int) -> tuple[bytes, int]:
    size, at = length_at(dump, at)
    return dump[at : at + size], at + size


def redis_nodes(redis: RawClient, key: str) -> list[Node]:
    """Key and listpack of every node in the oracle's dump."""
    dump = redis("DUMP", key)
    assert dump[0] == TYPE_STREAM_2
    count, at = length_at(dump, 1)
    nodes = []
    for _ in range(count):
        name, at = string_at(dump, at)
        blob, at = string_at(dump, at)
        nodes.append((name, blob))
    return nodes


def our_nodes(client: EngineClient, key: str) -> list[Node]:
    stream = client.engine.keyspace.databases[0].values[key.encode()]
    return [(name, node.blob()) for name, node in stream.nodes.items()]


# Writing streams


def value(dice: Random) -> bytes:
    match dice.randint(0, 5):
        case 0 | 1:
            return b"%d" % (dice.choice([-1, 1]) * 2 ** dice.choice(EDGES) + dice.randint(-2, 2))
        case 2:
            return b"x" * dice.choice(LENGTHS)
        case 3:
            return dice.choice(LOOK_ALIKES)
    return dice.randbytes(dice.randint(0, 40))


def fields(dice: Random) -> list[bytes]:
    return [word for name in dice.choice(NAMES) for word in (name, value(dice))]


def next_id(dice: Random, last: tuple[int, int]) -> tuple[int, int]:
    """An ID above the last: the next sequence, or near, far and farthest in time."""
    ms, seq = last
    if dice.random() < 0.5 and seq < 2**64 - 10:
        return ms, seq + dice.choice([1, 1, 1, 2, 200])
    return ms + dice.choice([1, 1, 5, 130, 70_000, 2**33]), dice.choice([0, 0, 3, 2**63, 2**64 - 5])


def commands(dice: Random, count: int) -> Iterator[list[bytes]]:
    """A stream that grows, with deletions and trims on its way."""
    known: list[bytes] = []
    last = 0, 0
    for _ in range(count):
        if known and dice.random() < 0.15:
            yield [b"XDEL", b"s", *dice.sample(known, min(len(known), dice.randint(1, 4)))]
        elif known and dice.random() < 0.03:
            sign = dice.choice([b"=", b"~"])
            yield [b"XTRIM", b"s", b"MAXLEN", sign, b"%d" % dice.randint(1, 2 * len(known))]
        elif known and dice.random() < 0.02:
            yield [b"XTRIM", b"s", b"MINID", b"~", dice.choice(known)]
        last = next_id(dice, last)
        known.append(b"%d-%d" % last)
        yield [b"XADD", b"s", known[-1], *fields(dice)]


@pytest.mark.parametrize("entries", [0, 1, 2, 100, 300])
@pytest.mark.parametrize("node_bytes", [0, 100, 4096, 60_000])
def test_random_streams_have_the_same_nodes(
    redis: RawClient, entries: int, node_bytes: int
) -> None:
    set_node_size(redis, node_bytes, entries)
    for seed in range(STREAMS):
        redis("DEL", "s")
        client = engine(node_bytes, entries)
        dice = Random(f"{entries} {node_bytes} {seed}")
        for command in commands(dice, 120):
            assert client.raw(*command) == redis.raw(*command)
        assert our_nodes(client, "s") == redis_nodes(redis, "s")


def test_a_node_of_three_hundred_entries_loses_them_one_by_one(redis: RawClient) -> None:
    set_node_size(redis, 0, 300)
    client = engine(0, 300)
    dice = Random(300)
    doomed = list(range(1, 301))
    dice.shuffle(doomed)
    script = [["XADD", "s", f"{n}-{n % 3}", "f", str(n)] for n in range(1, 302)]
    script += [["XDEL", "s", f"{n}-{n % 3}"] for n in doomed]
    for at, command in enumerate(script):
        assert client.raw(*command) == redis.raw(*command)
        if at % 25 == 0 or at > 590:
            assert our_nodes(client, "s") == redis_nodes(redis, "s")
    assert len(our_nodes(client, "s")) == 1


def test_more_elements_than_the_header_can_count_are_marked_as_uncounted(redis: RawClient) -> None:
    set_node_size(redis, 0, 0)
    client = engine(0, 0)
    # Counting ends at 65,535: approach it in leaps, and pass it in small steps.
    for n in range(1, 1000):
        words = ["XADD", "s", f"{n}-0", *["f", "v"] * (2000 if n < 30 else 1)]
        assert client.raw(*words) == redis.raw(*words)
        if n % 100 == 0 or 790 < n < 820:
            assert our_nodes(client, "s") == redis_nodes(redis, "s")
    ((_, blob),) = our_nodes(client, "s")
    assert blob[4:6] == b"\xff\xff"


@pytest.mark.parametrize("size", [63, 64, 4095, 4096, 16_377, 16_378, 2_097_145, 2_097_146])
def test_long_strings_have_the_same_encoding(redis: RawClient, size: int) -> None:
    client = engine(4096, 100)
    for n, words in enumerate((["f", "x" * size], ["x" * size, "v"], ["f", "x" * size]), 1):
        command = ["XADD", "s", f"{n}-0", *words]
        assert client.raw(*command) == redis.raw(*command)
    assert our_nodes(client, "s") == redis_nodes(redis, "s")
