"""Random scripts of string commands, the same for redis-server and Forebay.

FOREBAY_PEER may name a server of 8.4 or later: then the newer commands are compared too.
"""

from __future__ import annotations

from random import Random

import pytest

import forebay
from testkit.compat.differ import check
from testkit.compat.differences import is_before
from testkit.compat.scripts import Script
from testkit.compat.string_commands import random_command
from testkit.servers import ServerProcess

LENGTH = 60
SCRIPTS = 90 if forebay.compiled() else 20
SEEDS = range(6)


def script(seed: int) -> Script:
    dice = Random(seed)
    newer = not is_before("8.4")
    return [random_command(dice, newer=newer) for _ in range(LENGTH)]


@pytest.mark.oracle
@pytest.mark.parametrize("seed", SEEDS)
def test_scripts_of_string_commands_are_answered_alike(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    numbers = range(seed * SCRIPTS, (seed + 1) * SCRIPTS)
    check(redis_server, forebay_server, [script(number) for number in numbers])
