"""R9: redis-server and Forebay get the same commands; every reply is compared byte for byte.

Scripts of four kinds take turns: streams, keys and transactions around them, strings, lists and
sets; each in RESP2 and in RESP3.  Times are masked; a difference that a later version of Redis
explains is listed in testkit/compat/differences.py.  Anything else is a failure, shown with the
smallest script that still differs.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from reliability.goals import Outcome
from testkit.compat import generic_commands, list_commands, string_commands
from testkit.compat.differ import first_difference, play_on, shrink
from testkit.compat.scripts import Script, ScriptWriter
from testkit.oracle import start_redis
from testkit.servers import start_forebay

LENGTH = 60
QUIET = ("--appendonly", "no", "--save", "")


def replies(n: int, seed: int, scratch: Path) -> Outcome:
    """R9: at least ``n`` commands."""
    outcome = Outcome()
    redis = start_redis(scratch / "redis")
    forebay = start_forebay(scratch / "forebay", *QUIET)
    try:
        with redis.client(unix=True) as left, forebay.client(unix=True) as right:
            number = 0
            while outcome.n < n and not outcome.failures:
                script, kind = script_of(seed * 1_000_000 + number)
                outcome.count(kind, len(script))
                outcome.n += len(script)
                number += 1
                found = first_difference(script, play_on(left, script), play_on(right, script))
                if found is not None:
                    smallest = shrink(redis, forebay, script[: found.index + 1])
                    outcome.failures.append(str(smallest))
    finally:
        redis.stop()
        forebay.stop()
    return outcome


def script_of(number: int) -> tuple[Script, str]:
    """The script of this number: its kind and its protocol take turns, the rest is chance."""
    protocol, kind = 2 + number % 2, number // 2 % 4
    hello = ["HELLO", str(protocol)]
    dice = Random(number)
    match kind:
        case 0:
            writer = ScriptWriter(number, deletes=dice.random() < 0.7)
            return writer.script(LENGTH, protocol), "streams"
        case 1:
            words = [generic_commands.random_command(dice) for _ in range(LENGTH)]
            return [hello, *([word.decode() for word in line] for line in words)], "keys"
        case 2:
            lines = [string_commands.random_command(dice, newer=False) for _ in range(LENGTH)]
            return [hello, *lines], "strings"
    return [hello, *list_commands.random_script(2 * number, LENGTH)], "lists_and_sets"
