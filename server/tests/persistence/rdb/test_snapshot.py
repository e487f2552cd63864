"""A keyspace written to a file and read back: no version loses anything, and damage is refused."""

from __future__ import annotations

import re
from random import Random

import pytest

import forebay
from forebay.core.check import check_keyspace
from forebay.core.keyspace import Keyspace
from forebay.errors import CorruptDataError
from forebay.persistence.rdb import snapshot
from forebay.persistence.rdb.format import UNOWNED_CONSUMER, VERSIONS
from forebay.persistence.rdb.snapshot import LoadOptions, SaveOptions, SnapshotLoader, save
from testkit.engine_client import EngineClient
from testkit.portrait import portrait
from testkit.random_keyspace import fill
from testkit.rdb_files import Source, loaded, saved

KEYSPACES = 20 if forebay.compiled() else 2


def filled(seed: object, newest: bool = True) -> EngineClient:
    client = EngineClient()
    fill(client, Random(f"{seed}"), newest=newest)
    return client


def keyspace_of(*commands: str) -> Keyspace:
    client = EngineClient()
    for command in commands:
        client(command)
    return client.engine.keyspace


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_lost_in_any_version(version: str) -> None:
    for seed in range(KEYSPACES):
        keyspace = filled(f"{version} {seed}").engine.keyspace
        loader = loaded(saved(keyspace, version=version))
        check_keyspace(loader.keyspace)
        assert portrait(loader.keyspace, times=True) == portrait(keyspace, times=True)
        assert loader.keys_loaded == sum(map(len, keyspace.databases))


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("checksum", [True, False])
def test_compression_and_checksum_may_be_left_out(compress: bool, checksum: bool) -> None:
    keyspace = filled("plain").engine.keyspace
    data = saved(keyspace, compress=compress, checksum=checksum)
    assert (data[-8:] == bytes(8)) == (not checksum)
    assert portrait(loaded(data).keyspace, times=True) == portrait(keyspace, times=True)


def test_the_head_tells_who_wrote_it_and_what_the_caller_adds() -> None:
    data = saved(Keyspace(), aux=[(b"ctime", b"1700000000"), (b"aof-base", b"1")])
    assert data.startswith(b"REDIS0010")
    aux = loaded(data).aux
    assert aux[b"ctime"] == b"1700000000"
    assert aux[b"aof-base"] == b"1"
    assert aux[b"forebay-ver"] == forebay.__version__.encode()


def test_saving_pauses_and_counts_keys() -> None:
    keyspace = keyspace_of(*(f"SET key:{n} value" for n in range(2500)))
    counts = list(save(keyspace, lambda piece: None, SaveOptions()))
    assert counts == [1000, 2000, 2500]


def test_saving_and_loading_pause_within_a_long_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "READ_BYTES_A_STEP", 100_000)
    client = EngineClient(stream_node_max_entries=1)
    for n in range(1, 400):
        client("XADD", "s", f"{n}-0", "f", Random(n).randbytes(1000))
    pieces: list[bytes] = []
    assert len(list(save(client.engine.keyspace, pieces.append))) > 3
    data = b"".join(pieces)
    steps = list(SnapshotLoader(Source(data).read, len(data), Keyspace()).steps())
    assert len(steps) > 3
    assert steps == sorted(steps)
    assert steps[-1] == len(data)


def test_keys_past_their_time_are_left_out_if_asked() -> None:
    keyspace = keyspace_of("SET old 1 PXAT 1000001", "SET new 1 PXAT 1000003", "SET ever 1")
    data = saved(keyspace)
    loader = loaded(data, now_ms=1_000_002, drop_expired=True)
    assert set(loader.keyspace.databases[0].values) == {b"new", b"ever"}
    assert (loader.keys_loaded, loader.keys_expired) == (2, 1)
    assert set(loaded(data, now_ms=1_000_002).keyspace.databases[0].values) == {
        b"old", b"new", b"ever",
    }  # fmt: skip


def test_what_follows_a_snapshot_is_found_if_asked_for() -> None:
    data = saved(keyspace_of("SET a 1"))
    assert loaded(data + b"*1\r\n", allow_tail=True).end == len(data)
    with pytest.raises(CorruptDataError, match=f"4 bytes follow .* at offset {len(data)}"):
        loaded(data + b"*1\r\n")


def with_released_entries(consumer: str) -> Keyspace:
    """Five entries delivered to a consumer, which has released two of them."""
    client = EngineClient()
    for n in range(1, 6):
        client("XADD", "s", f"{n}-0", "f", "v")
    client("XGROUP CREATE s g 0")
    client(f"XREADGROUP GROUP g {consumer} COUNT 5 STREAMS s >")
    client("XNACK s g FAIL IDS 2 4-0 2-0")
    return client.engine.keyspace


def test_redis_sees_a_consumer_in_place_of_the_nack_zone() -> None:
    data = saved(with_released_entries("alice"))
    # Redis does not know this field; a loader that ignores it is like Redis.
    stranger = loaded(reseal(data.replace(b"forebay-stream", b"a-stranger-aux")))
    group = stranger.keyspace.databases[0].values[b"s"].groups.find(b"g")
    assert [name for name, _ in group.consumers.items()] == [b"alice", UNOWNED_CONSUMER]
    assert group.consumer(UNOWNED_CONSUMER).pending == 2
    ours = loaded(data).keyspace.databases[0].values[b"s"].groups.find(b"g")
    assert [name for name, _ in ours.consumers.items()] == [b"alice"]
    assert ours.pending.nacked == 2


def test_a_real_consumer_of_that_name_keeps_what_is_his() -> None:
    keyspace = with_released_entries("forebay:unowned")
    assert portrait(loaded(saved(keyspace)).keyspace, times=True) == portrait(keyspace, times=True)


def reseal(data: bytes) -> bytes:
    """The file with a checksum of zero, which means that there is none."""
    return data[:-8] + bytes(8)


# Refused files


def refusal(data: bytes, **options: object) -> str:
    with pytest.raises(CorruptDataError, match=r"at offset \d+") as caught:
        loaded(data, **options)
    return str(caught.value)


def test_a_file_that_is_no_snapshot_says_so() -> None:
    for data in (b"", b"REDIS", b"*1\r\n$4\r\nPING\r\n", b"REDIS00x0" + bytes(20), bytes(100)):
        assert "not an RDB file" in refusal(data)


@pytest.mark.parametrize("version", ["0016", "0099", "9999"])
def test_a_newer_version_is_named(version: str) -> None:
    data = saved(Keyspace())
    assert f"version {int(version)} is newer" in refusal(b"REDIS" + version.encode() + data[9:])


def test_every_flip_and_every_cut_is_noticed() -> None:
    data = saved(filled("damage").engine.keyspace)[:]
    dice = Random(6)
    for _ in range(300 if forebay.compiled() else 30):
        flipped = bytearray(data)
        flipped[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        refusal(bytes(flipped))
        refusal(data[: dice.randrange(len(data))])


def test_a_wrong_checksum_may_be_overlooked_on_request() -> None:
    data = bytearray(saved(keyspace_of("SET a 1")))
    data[-1] ^= 1
    assert "checksum" in refusal(bytes(data))
    assert loaded(bytes(data), verify_checksum=False).keys_loaded == 1


def body(*parts: bytes) -> bytes:
    """A file with these parts in it."""
    return b"REDIS0010" + b"".join(parts) + b"\xff" + bytes(8)


def text(data: bytes) -> bytes:
    return bytes([len(data)]) + data


def test_a_key_that_is_there_twice_is_refused() -> None:
    key = b"\0" + text(b"a") + text(b"1")
    assert "key 'a' is there twice" in refusal(body(key, key))


def test_a_database_that_is_not_configured_is_refused() -> None:
    assert "database 16 is not there: 16 are configured" in refusal(body(b"\xfe\x10"))


def test_what_is_neither_type_nor_opcode_is_refused() -> None:
    assert "200 is neither a type nor an opcode" in refusal(body(b"\xc8"))


def test_a_collection_without_elements_is_no_key() -> None:
    loader = loaded(body(b"\x01" + text(b"list") + b"\0", b"\x02" + text(b"set") + b"\0"))
    assert (loader.keys_loaded, loader.keys_empty) == (0, 2)


def test_a_set_with_a_member_twice_is_refused() -> None:
    assert "twice" in refusal(body(b"\x02" + text(b"set") + b"\x02" + text(b"a") + text(b"a")))


def test_the_extra_of_a_stream_is_not_believed_either() -> None:
    client = filled("extra")
    data = saved(client.engine.keyspace, checksum=False, compress=False)
    where = [match.end() for match in re.finditer(rb"forebay-stream", data)]
    assert where
    dice = Random(9)
    for _ in range(200 if forebay.compiled() else 30):
        damaged = bytearray(data)
        at = dice.choice(where) + dice.randrange(2, 40)
        damaged[at] = dice.choice(b"0123456789abcdefg")
        try:
            check_keyspace(loaded(bytes(damaged)).keyspace)
        except CorruptDataError as problem:
            if not re.search(r"at offset \d+", str(problem)):
                raise


# Foreign types

FOREIGN = {
    "hash": [
        b"\x04" + text(b"k") + b"\x01" + text(b"f") + text(b"v"),
        b"\x09" + text(b"k") + text(b"zipmap"),
        b"\x0d" + text(b"k") + text(b"ziplist"),
        b"\x10" + text(b"k") + text(b"listpack"),
        b"\x16" + text(b"k") + b"\x01\x05" + text(b"f") + text(b"v"),
        b"\x17" + text(b"k") + text(b"listpack"),
        b"\x18" + text(b"k") + bytes(8) + b"\x01\x05" + text(b"f") + text(b"v"),
        b"\x19" + text(b"k") + bytes(8) + text(b"listpack"),
    ],
    "sorted set": [
        b"\x03" + text(b"k") + b"\x02" + text(b"m") + text(b"1.5") + text(b"n") + b"\xfe",
        b"\x05" + text(b"k") + b"\x01" + text(b"m") + bytes(8),
        b"\x0c" + text(b"k") + text(b"ziplist"),
        b"\x11" + text(b"k") + text(b"listpack"),
    ],
    "module value": [
        b"\x07" + text(b"k") + b"\x05\x01\x07\x02\x07\x03" + bytes(4) + b"\x04" + bytes(8)
        + b"\x05" + text(b"s") + b"\0",
    ],
    "function library": [
        b"\xf5" + text(b"code"),
        b"\xf6" + text(b"name") + text(b"engine") + b"\0" + text(b"code"),
    ],
    "module data": [b"\xf7\x05\x02\x01\0", b"\xf3\x01" + bytes(4) + b"\x05" + text(b"s") + b"\0"],
}  # fmt: skip
NEXT = b"\0" + text(b"next") + text(b"value")


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_things_are_refused_by_name_or_left_out_and_counted(name: str) -> None:
    for part in FOREIGN[name]:
        reason = refusal(body(part, NEXT))
        assert f"a {name}, which this server does not have" in reason
        assert "skip-foreign-types yes" in reason
        assert ("key 'k'" in reason) == (part[0] < 128)
        loader = loaded(body(part, NEXT), skip_foreign=True)
        assert loader.foreign == {name: 1}
        assert loader.keyspace.databases[0].values == {b"next": b"value"}


def test_a_module_value_of_the_old_kind_cannot_be_left_out() -> None:
    data = body(b"\x06" + text(b"k") + b"\x01", NEXT)
    assert "size is not known" in refusal(data, skip_foreign=True)


def test_hints_about_keys_and_slots_are_stepped_over() -> None:
    hints = [b"\xf4\x01\x02\x03", b"\xf9\x05", b"\xf8\x40\x40", b"\xfb\x01\0"]
    loader = loaded(body(*hints, b"\xfd" + (7).to_bytes(4, "little"), NEXT))
    assert loader.keyspace.databases[0].expires == {b"next": 7000}


def test_streams_of_a_redis_get_the_settings_of_this_server() -> None:
    data = saved(keyspace_of("XADD s 1-1 f v"))
    stranger = reseal(data.replace(b"forebay-ver", b"another-ver"))
    options = {"idmp_duration_s": 7, "idmp_maxsize": 9}
    stream = loaded(stranger, **options).keyspace.databases[0].values[b"s"]
    assert (stream.idmp_duration_s, stream.idmp_maxsize) == (7, 9)
    stream = loaded(data, **options).keyspace.databases[0].values[b"s"]
    assert (stream.idmp_duration_s, stream.idmp_maxsize) == (100, 100)


def test_a_file_may_come_in_small_pieces() -> None:
    keyspace = filled("small pieces").engine.keyspace
    data = saved(keyspace)
    source = Source(data)
    loader = SnapshotLoader(lambda n: source.read(min(n, 1000)), len(data), Keyspace())
    loader.load()
    assert portrait(loader.keyspace, times=True) == portrait(keyspace, times=True)


def test_loading_asks_for_no_more_than_the_file_has() -> None:
    data = saved(filled("pieces").engine.keyspace)
    asked: list[int] = []
    source = Source(data)

    def read(n: int) -> bytes:
        asked.append(n)
        return source.read(n)

    SnapshotLoader(read, len(data), Keyspace(), LoadOptions()).load()
    assert sum(asked) == len(data)
