"""AOFs that were cut up, mixed and overwritten: a prefix of the true data, or a clear refusal."""

from __future__ import annotations

from random import Random

import pytest

from forebay.errors import CorruptDataError
from server.tests.support.aof_files import (
    Notes,
    aof_in_memory,
    command,
    increment,
    load,
    reopen,
    seal_all,
    transaction,
    units,
)

SEED = 20261
ROUNDS = 1500


def random_units(dice: Random) -> list[bytes]:
    """A few units of all shapes; some words look like parts of an AOF."""
    words = [b"v", b"", b"\0" * 50, b"#CRC:00000000\r\n", b"*1\r\n$4\r\nEXEC\r\n", b"x" * 300]
    found = []
    for number in range(dice.randint(1, 12)):
        add = command("XADD", "s", f"{number + 1}-1", "f", dice.choice(words))
        kind = dice.randrange(4)
        if kind == 0:
            found.append(command("SELECT", dice.randrange(16)) + add)
        elif kind == 1:
            found.append(transaction(add, command("SET", "k", dice.choice(words))))
        else:
            found.append(add)
    return found


def damaged(dice: Random, text: bytes) -> bytes:
    """Some bytes taken out, doubled, moved, overwritten or put in."""
    a, b, c = sorted(dice.randrange(len(text) + 1) for _ in range(3))
    return dice.choice(
        (
            text[:a] + text[b:],
            text[:b] + text[a:],
            text[:a] + text[b:c] + text[a:b] + text[c:],
            text[:a] + bytes(b - a) + text[b:],
            text[:a] + dice.randbytes(min(b - a, 60)) + text[min(b, a + 60) :],
            text[:a] + dice.choice((b"*", b"$", b"#", b"\r\n", b"*2\r\n", b"#CRC:")) + text[a:],
            text[:a],
        )
    )


@pytest.mark.parametrize("part", range(4))
def test_a_sealed_aof_that_was_tampered_with_gives_a_prefix_or_is_refused(part: int) -> None:
    refused = 0
    for seed in range(SEED + part, SEED + ROUNDS, 4):
        dice = Random(seed)
        parts = random_units(dice)
        text = seal_all(*parts, marks={len(parts) // 2: 15} if dice.random() < 0.5 else {})
        disk = aof_in_memory(damaged(dice, text))
        before = disk.read(increment(1))
        prefixes = {b"".join(parts[:n]) for n in range(len(parts) + 1)}
        # SELECT alone does nothing.
        prefixes |= {state + command("SELECT", n) for state in prefixes for n in range(16)}
        try:
            content, aof = reopen(disk, "data")
        except CorruptDataError:
            refused += 1
            assert disk.read(increment(1)) == before, seed
            continue
        assert content in prefixes, f"seed {seed}"
        aof.append(*units(parts[0]))
        notes = Notes()
        assert load(disk, "data", notes)[0] == content + parts[0], f"seed {seed}"
        assert notes == [], f"seed {seed}"
    assert 0 < refused < ROUNDS // 4


@pytest.mark.parametrize("part", range(4))
def test_whatever_is_in_a_file_loading_ends_and_what_it_left_is_good(part: int) -> None:
    for seed in range(SEED + part, SEED + ROUNDS, 4):
        dice = Random(seed)
        text = b"".join(random_units(dice))
        if dice.random() < 0.5:
            text += seal_all(*random_units(dice), before=text)
        for _ in range(dice.randint(1, 4)):
            text = damaged(dice, text) or b"x"
        disk = aof_in_memory(text)
        try:
            content, aof = reopen(disk, "data")
        except CorruptDataError:
            assert disk.read(increment(1)) == text, seed
            continue
        aof.append(*units(command("PING")))
        notes = Notes()
        assert load(disk, "data", notes)[0] == content + command("PING"), f"seed {seed}"
        assert notes == [], f"seed {seed}"
