"""Payloads of DUMP: one value, a version, a checksum, in the lowest type that holds all of it."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any

import pytest

import forebay
from forebay.core.check import check_stream
from forebay.core.elements import Elements
from forebay.core.members import Members
from forebay.core.stream import Stream
from forebay.errors import CorruptDataError
from forebay.persistence.rdb.format import VERSIONS
from forebay.persistence.rdb.payload import BadFooterError, dump, restore
from forebay.persistence.rdb.stream_extra import IdmpState
from testkit.engine_client import EngineClient
from testkit.portrait import of_value
from testkit.random_keyspace import fill
from testkit.rdb_files import sealed

KEYSPACES = 20 if forebay.compiled() else 2

#: The answers of redis-server 7.0.15 to DUMP, and the stored values.
FROM_REDIS: list[tuple[str, Any]] = [
    ("000568656c6c6f0a006372df766534200a", b"hello"),
    ("00c00a0a006e9f57450eae63bb", b"10"),
    ("00c30d40c805776f72642077e0b7040164200a00501cb645d0462bef", b"word " * 40),
    ("1201020f0f00000003008161028162020301ff0a00dca1e67d50055048", deque([b"a", b"b", b"3"])),
    (
        "0b1404000000030000000100000002000000e09304000a00742f3348486c6a39",
        {b"1", b"2", b"300000"},
    ),
    ("020202797901780a0077438c500f9c2365", {b"x", b"yy"}),
]
#: XADD st 1-1 f v; XADD st 2-2 f 17; a group g whose consumer a holds 1-1, delivered at time 5.
STREAM_FROM_REDIS = (
    "1301100000000000000001000000000000000127270000000f0002010001010181660200010201000100018176"
    "02040102010101010111010401ff020202010100000201016701010101000000000000000100000000000000"
    "01050000000000000001010161b2dfbfe1a101000001000000000000000100000000000000010a000978bc6731"
    "24fbc5"
)


def stream_of(*commands: str) -> Stream:
    client = EngineClient()
    for command in commands:
        client(command)
    stream: Stream = client.engine.keyspace.databases[0].values[b"s"]
    return stream


@pytest.mark.parametrize(("payload", "value"), FROM_REDIS)
def test_payloads_of_a_redis_are_taken(payload: str, value: Any) -> None:
    assert restore(bytes.fromhex(payload)) == value


def test_a_stream_of_a_redis_is_taken_and_given_back_byte_for_byte() -> None:
    payload = bytes.fromhex(STREAM_FROM_REDIS)
    stream = restore(payload)
    check_stream(stream)
    assert stream.range() == [(1, 1, [b"f", b"v"]), (2, 2, [b"f", b"17"])]
    group = stream.groups.find(b"g")
    assert group.consumer(b"a").pending == 1
    assert group.pending.time_ms(group.pending.first()) == 5
    assert dump(stream) == payload


@pytest.mark.parametrize("text", [b"hello", b"10"])
def test_short_strings_are_dumped_byte_for_byte_as_redis_does(text: bytes) -> None:
    assert dump(text).hex() in [payload for payload, value in FROM_REDIS if value == text]


def test_values_of_every_kind_come_back() -> None:
    for value in (b"", b"12", b"text " * 100, Elements([b"a", b"1", b""]), Members([b"x", b"7"])):
        assert restore(dump(value)) == value


@pytest.mark.parametrize("version", VERSIONS)
def test_streams_come_back_from_every_version(version: str) -> None:
    for seed in range(KEYSPACES):
        client = EngineClient()
        fill(client, Random(f"{version} {seed}"), newest=True)
        for db in client.engine.keyspace.databases:
            for value in db.values.values():
                twin = restore(dump(value, version))
                assert of_value(twin, times=True) == of_value(value, times=True)
                if isinstance(twin, Stream):
                    check_stream(twin)


def consumers_of(client: EngineClient, key: str) -> list[list[Any]]:
    return list(client("XINFO", "CONSUMERS", key, "g"))


def test_a_consumer_who_came_and_got_nothing_stays_one_wherever_the_payload_goes() -> None:
    client = EngineClient()
    client("XADD s 1-1 f v")
    client("XGROUP CREATE s g 0")
    client("XREADGROUP GROUP g busy STREAMS s >")
    client.sleep(5000)
    client("XREADGROUP GROUP g busy STREAMS s >")
    client("XGROUP CREATECONSUMER s g idle")
    client.sleep(3000)
    payload = client("DUMP", "s")
    assert kind_and_version(payload) == (19, 10)
    other = EngineClient(now_ms=client.now_ms)
    assert other("RESTORE", "s", 0, payload) == "OK"
    assert other("DUMP", "s") == payload
    assert consumers_of(other, "s") == consumers_of(client, "s")
    busy, idle = consumers_of(other, "s")
    assert busy[-3:] == [3000, b"inactive", 8000]
    assert idle[-3:] == [3000, b"inactive", -1]


@pytest.mark.parametrize(
    "extra",
    [
        b"x",
        b"\xfa\x01x\x01y",
        b"\xfa\x0eforebay-stream\x03abc",
        b"\xfa\x0eforebay-stream\x0c010001016700",
        # A group and a consumer that are not there.
        b"\xfa\x0eforebay-stream\x1e01000101670101610000000000000000" + b"0000",
    ],
)
def test_bytes_behind_a_stream_that_say_nothing_of_it_are_refused(extra: bytes) -> None:
    body = dump(stream_of("XADD s 1-1 f v"))[:-10]
    with pytest.raises(CorruptDataError):
        restore(sealed(body + extra))


def kind_and_version(payload: bytes) -> tuple[int, int]:
    return payload[0], int.from_bytes(payload[-10:-8], "little")


def test_a_stream_is_written_in_the_smallest_type_that_holds_it() -> None:
    plain = stream_of("XADD s 1-1 f v")
    known = stream_of("XADD s IDMP p i * f v")
    released = stream_of(
        "XADD s 1-1 f v",
        "XGROUP CREATE s g 0",
        "XREADGROUP GROUP g c STREAMS s >",
        "XNACK s g FAIL IDS 1 1-1",
    )
    configured = stream_of("XADD s 1-1 f v", "XCFGSET s IDMP-DURATION 5")
    assert kind_and_version(dump(plain)) == (19, 10)
    assert kind_and_version(dump(plain, "7.2")) == (21, 11)
    assert kind_and_version(dump(plain, "7.4")) == (21, 12)
    assert kind_and_version(dump(plain, "8.8")) == (27, 14)
    assert kind_and_version(dump(known)) == (26, 13)
    assert kind_and_version(dump(configured)) == (26, 13)
    assert kind_and_version(dump(configured, defaults=IdmpState(5, 100))) == (19, 10)
    assert kind_and_version(dump(released)) == (27, 14)
    assert kind_and_version(dump(b"text")) == (0, 10)


def test_compression_may_be_left_out() -> None:
    text = b"word " * 100
    assert len(dump(text)) < 50 < len(dump(text, compress=False))
    assert restore(dump(text, compress=False)) == text


@pytest.mark.parametrize("payload", [b"", bytes(10), dump(b"x")[:-1], dump(b"x") + b"\0"])
def test_a_footer_that_is_cut_or_moved_is_told_apart(payload: bytes) -> None:
    with pytest.raises(BadFooterError):
        restore(payload)


def test_every_flipped_bit_spoils_the_footer() -> None:
    payload = dump(b"some text")
    for bit in range(8 * len(payload)):
        damaged = bytearray(payload)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadFooterError):
            restore(bytes(damaged))


def test_a_newer_version_is_a_bad_footer() -> None:
    assert restore(sealed(b"\0\x01a", 15)) == b"a"
    with pytest.raises(BadFooterError, match="version 16"):
        restore(sealed(b"\0\x01a", 16))


@pytest.mark.parametrize(
    "body",
    [
        b"\0",
        b"\0\x02a",
        b"\0\x01ab",
        b"\x01\0",
        b"\x02\0",
        b"\x02\x02\x01a\x01a",
        b"\x0a\x03abc",
        b"\x0b\x03abc",
        b"\x14\x03abc",
        b"\x0e\x01\x03abc",
        b"\x12\x01\x03\x03abc",
        b"\x12\x01\x02\x03abc",
        b"\x04\x01\x01f\x01v",
        b"\x08\x01a",
        b"\xfa\x01a\x01b",
        b"\x1c\0",
    ],
)
def test_a_body_that_makes_no_sense_is_another_error(body: bytes) -> None:
    with pytest.raises(CorruptDataError, match=r"at offset \d+") as caught:
        restore(sealed(body))
    assert not isinstance(caught.value, BadFooterError)


def test_the_checksum_may_be_skipped_but_nothing_else() -> None:
    payload = dump(b"some text")[:-8] + bytes(8)
    assert restore(payload, skip_checks=True) == b"some text"
    with pytest.raises(CorruptDataError):
        restore(payload[:-12] + payload[-10:], skip_checks=True)
