"""How many changes a command counts for INFO and the save points, as redis-server counts them."""

from __future__ import annotations

import re

import pytest

from server.tests.compat.test_random import generic_script, scripts
from server.tests.compat.test_random_strings import script as string_script
from testkit.compat.differ import Difference
from testkit.compat.list_commands import random_script
from testkit.compat.scripts import Script
from testkit.oracle import server_program, server_version
from testkit.resp import encode
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle

SEEDS = range(12)
SCRIPTS = 4
CHANGES = re.compile(rb"rdb_changes_since_last_save:(\d+)")
#: Redis 7.2 makes consumers early and counts them, and no longer counts a read of the history.
SINCE_7_2 = {"XREADGROUP", "XCLAIM", "XAUTOCLAIM", "XGROUP", "EXEC"}
#: Redis 7.2 refuses calls that change the data in 7.0.
UNLIKE_7_0 = "XSETID"


def counted(server: ServerProcess, script: Script) -> list[int]:
    """How much each command adds to the counter; 0 inside MULTI: EXEC adds for all of them."""
    sent = encode("FLUSHALL") + encode("INFO", "persistence")
    for command in script:
        sent += encode(*command) + encode("INFO", "persistence")
    with server.client(unix=True) as client:
        client.send(sent)
        told = client.read_many(2 * len(script) + 2)[1::2]
    counter, added = 0, []
    for info in told:
        found = CHANGES.search(info)
        now = counter if found is None else int(found[1])
        added.append(now - counter)
        counter = now
    return added[1:]


def check_counts(redis: ServerProcess, forebay: ServerProcess, script: Script) -> None:
    excused = SINCE_7_2 if server_version(server_program()) < (7, 2) else set()
    theirs, ours = counted(redis, script), counted(forebay, script)
    for i, (left, right) in enumerate(zip(theirs, ours, strict=True)):
        if left != right and script[i][0].upper() not in excused:
            told = b":%d\r\n" % left, b":%d\r\n" % right
            raise AssertionError(str(Difference(script[: i + 1], i, *told)))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_stream_command_counts_its_changes(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    for script in scripts(2000 + seed, deletes=True)[:SCRIPTS]:
        alike = [words for words in script if words[0].upper() != UNLIKE_7_0]
        check_counts(redis_server, forebay_server, alike)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_other_command_counts_its_changes(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    for number in range(SCRIPTS * seed, SCRIPTS * (seed + 1)):
        # There are no functions here, so FUNCTION FLUSH changes nothing.
        script = [words for words in generic_script(number) if words[0].upper() != "FUNCTION"]
        check_counts(redis_server, forebay_server, script)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_command_on_strings_lists_and_sets_counts_its_changes(
    seed: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    for number in range(SCRIPTS * seed, SCRIPTS * (seed + 1)):
        check_counts(redis_server, forebay_server, string_script(number))
        check_counts(redis_server, forebay_server, random_script(number, 60))
