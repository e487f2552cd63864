"""Flipped bits (R5): noticed, or without effect; never loaded as other data."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

import forebay
from forebay.errors import CorruptDataError
from reliability.aof_goals import Victim, bit_flips
from reliability.aof_life import Life
from reliability.goals import Outcome
from testkit.forgetful_disk import ForgetfulDisk
from testkit.recovery import FOLDER, NAME, Recovery

FLIPS = 1200 if forebay.compiled() else 80
#: Every bit of the manifest, or the lowest of each byte: it tells i from h, and 2 from 3.
STEP = 1 if forebay.compiled() else 8
SEED = 20261116


@pytest.fixture(scope="module")
def victim() -> Victim:
    return Victim(Life(Random(SEED)))


@pytest.mark.oracle
def test_no_flipped_bit_is_loaded_silently(tmp_path: Path) -> None:
    outcome = bit_flips(FLIPS, SEED, tmp_path)
    assert outcome.failures == [], f"seed {SEED}"
    assert outcome.n == FLIPS
    # Nearly every one was noticed.
    assert outcome.figures["refused"] + outcome.figures.get("cut", 0) > 0.9 * FLIPS


def test_each_bit_of_the_manifest(victim: Victim) -> None:
    path = f"{FOLDER}/{NAME}.manifest"
    for bit in range(0, 8 * len(victim.files[path]), STEP):
        assert victim.problem(path, bit, Outcome()) == "", f"bit {bit}"


def test_damage_in_the_middle_stops_the_start_and_says_where_and_what_to_do(
    victim: Victim,
) -> None:
    path, data = victim.last_path, bytearray(victim.files[victim.last_path])
    assert data.count(b"#CRC:") > 3, "the last increment is too short to have a middle"
    data[data.index(b"\r\n#CRC:") - 1] ^= 1
    disk = ForgetfulDisk(victim.files | {path: bytes(data)})
    with pytest.raises(CorruptDataError) as caught:
        Recovery(disk).run()
    text = str(caught.value)
    assert path in text
    assert re.search(r"damaged at offset \d+", text)
    assert "forebay check --fix" in text
    assert disk.files() == victim.files | {path: bytes(data)}, "a start that fails changes nothing"


def test_the_end_of_an_increment_that_has_a_successor_is_no_unfinished_end() -> None:
    life = Life(Random(SEED))
    life.run("SET", "a", "1")
    life.run("SET", "b", "1")
    path = life.aof.path
    life.aof.rotate()
    files = life.disk.files()
    files[path] = files[path][:-1] + b"x"
    with pytest.raises(CorruptDataError, match="not the last file"):
        Recovery(ForgetfulDisk(files)).run()
