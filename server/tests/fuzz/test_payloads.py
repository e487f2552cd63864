"""Payloads with changed bytes, loaded without checking the checksum: refused, or sound and usable.

The search is that of reliability goal R7 with small numbers; FOREBAY_PAYLOADS sets more.
The other payloads were once accepted by mistake, or broke another server.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import forebay
from reliability import rdb_goals
from testkit.engine_client import EngineClient, ReplyError
from testkit.rdb_files import ConsumerPart, GroupPart, body_of, payload_of

COUNT = int(os.environ.get("FOREBAY_PAYLOADS", 6000 if forebay.compiled() else 1000))
SEEDS = (7, 8)


@pytest.mark.parametrize("seed", SEEDS)
def test_changed_payloads_are_refused_or_become_sound_values(seed: int, tmp_path: Path) -> None:
    outcome = rdb_goals.hostile_payloads(COUNT // len(SEEDS), seed, tmp_path)
    print(f"seed {seed}: {outcome.figures}")
    assert outcome.failures == []
    assert min(outcome.figures["accepted"], outcome.figures["refused"]) > outcome.n // 10


def shared(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> bytes:
    """A stream with a group that has 1-0 and 2-0 pending; its two consumers own these entries."""
    client = EngineClient()
    for n in (1, 2):
        client("XADD", "s", f"{n}-0", "f", "v")
    body = body_of(client.engine.keyspace.databases[0].values[b"s"], 19)
    group = GroupPart(
        last=(2, 0),
        entries_read=2,
        pending=[((1, 0), 5, 1), ((2, 0), 5, 1)],
        consumers=[ConsumerPart(b"alice", owned=first), ConsumerPart(b"bob", owned=second)],
    )
    return payload_of(body.but(groups=[group]))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([(1, 0), (2, 0)], [(1, 0)]),  # one entry, two owners
        ([(1, 0), (1, 0), (2, 0)], []),  # one entry, twice at one owner
        ([(1, 0)], []),  # an entry without an owner
        ([(1, 0), (2, 0), (3, 0)], []),  # an owner of what is not pending
    ],
)
def test_entries_with_two_owners_never_get_in(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    """CVE-2026-63639: a server that accepts these frees an entry twice with its consumer."""
    client = EngineClient()
    assert client("RESTORE", "s", 0, shared([(1, 0)], [(2, 0)])) == "OK"
    assert client("RESTORE", "t", 0, shared(first, second)) == ReplyError("ERR Bad data format")
