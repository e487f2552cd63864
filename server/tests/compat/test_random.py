"""Random scripts, the same for redis-server and Forebay, compared byte for byte."""

from __future__ import annotations

from random import Random

import pytest

import forebay
from testkit.compat.differ import check
from testkit.compat.generic_commands import random_command
from testkit.compat.scripts import Script, ScriptWriter
from testkit.oracle import server_program, server_version
from testkit.servers import ServerProcess

#: Commands in a script, and scripts in a test; the interpreted leg plays fewer.
LENGTH = 60
SCRIPTS = 90 if forebay.compiled() else 12
SEEDS = range(8)


def scripts(seed: int, *, deletes: bool) -> list[Script]:
    numbers = range(seed * SCRIPTS, (seed + 1) * SCRIPTS)
    newer = server_version(server_program()) >= (8, 6)
    return [
        ScriptWriter(number, deletes=deletes, newer=newer).script(LENGTH, 2 + number % 2)
        for number in numbers
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("seed", SEEDS)
def test_scripts_that_only_add_are_answered_alike(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    check(redis_server, forebay_server, scripts(seed, deletes=False))


@pytest.mark.oracle
@pytest.mark.parametrize("seed", SEEDS)
def test_scripts_that_also_delete_and_trim_are_answered_alike(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    check(redis_server, forebay_server, scripts(1000 + seed, deletes=True))


def generic_script(seed: int) -> Script:
    dice = Random(seed)
    return [[word.decode() for word in random_command(dice)] for _ in range(LENGTH)]


@pytest.mark.oracle
@pytest.mark.parametrize("seed", SEEDS)
def test_scripts_around_streams_are_answered_alike(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    numbers = range(seed * SCRIPTS, (seed + 1) * SCRIPTS)
    check(redis_server, forebay_server, [generic_script(number) for number in numbers])
