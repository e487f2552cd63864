"""Torn ends (R4): an AOF that stops anywhere, or ends in zeros or garbage, loads whole units."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import forebay
from forebay.errors import CorruptDataError
from reliability.aof_goals import Torn, torn_tails
from reliability.torn_restarts import restarts_on_torn_aofs
from testkit.forgetful_disk import ForgetfulDisk
from testkit.recovery import Recovery

TAILS = 3000 if forebay.compiled() else 60
#: Every byte of the last kilobyte, or a part of them.
STEP = 1 if forebay.compiled() else 7
SEED = 20261116


@pytest.fixture(scope="module")
def torn() -> Torn:
    return Torn(Random(SEED), 3000)


def start(torn: Torn, data: bytes, *, truncated_ok: bool = True) -> tuple[Recovery, ForgetfulDisk]:
    disk = ForgetfulDisk(torn.files | {torn.path: data})
    return Recovery(disk, truncated_ok=truncated_ok).run(), disk


def test_an_aof_torn_anywhere_is_loaded_up_to_its_last_whole_unit(tmp_path: Path) -> None:
    outcome = torn_tails(TAILS, SEED, tmp_path)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n > TAILS


def test_each_byte_of_the_last_kilobyte(torn: Torn) -> None:
    for at in range(len(torn.data) - 1024, len(torn.data), STEP):
        assert torn.problem(torn.data[:at], at) == "", f"torn at byte {at}"


@pytest.mark.parametrize("tail", [bytes(4096), b"\xff" * 300, b"*3\r\n$3\r\nSET\r\n$1", b"#CRC:12"])
def test_what_was_cut_is_kept_beside_the_aof_and_told(torn: Torn, tail: bytes) -> None:
    recovery, disk = start(torn, torn.data + tail)
    copy = f"{torn.path}.corrupt-{len(torn.data)}"
    assert disk.read(torn.path) == torn.data
    assert disk.read(copy) == tail
    assert [note for note in recovery.notes if copy in note and note.startswith("warning")]


def test_a_copy_never_replaces_an_older_one(torn: Torn) -> None:
    copy = f"{torn.path}.corrupt-{len(torn.data)}"
    disk = ForgetfulDisk(torn.files | {torn.path: torn.data + bytes(9), copy: b"older"})
    Recovery(disk).run()
    assert disk.read(copy) == b"older"
    assert bytes(9) in disk.files().values()


def test_a_server_starts_on_torn_aofs(server_root: Path) -> None:
    outcome = restarts_on_torn_aofs(2, SEED, server_root)
    assert outcome.failures == []
    assert outcome.n == 2


def test_a_whole_aof_is_left_alone(torn: Torn) -> None:
    recovery, disk = start(torn, torn.data)
    assert disk.files() == torn.files
    assert recovery.notes == []


def test_a_short_aof_is_refused_if_the_operator_says_so(torn: Torn) -> None:
    with pytest.raises(CorruptDataError, match="aof-load-truncated"):
        start(torn, torn.data[:-3], truncated_ok=False)


def test_an_unfinished_transaction_is_rolled_back(torn: Torn) -> None:
    multi = b"*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nSET\r\n$4\r\nhalf\r\n$1\r\n1\r\n"
    recovery, disk = start(torn, torn.data + multi)
    assert disk.read(torn.path) == torn.data
    assert recovery.client("EXISTS", "half") == 0
