"""Send the same script to two servers, compare every reply, shrink a script that differs.

    script --> redis-server --> raw replies --+
          \\-> Forebay ------> raw replies --+--> equal bytes, or equal after the times
                                                 are masked and a listed difference is
                                                 taken into account (differences.py)

A script that differs is made smaller, command by command, as long as it still
differs, so that a failure prints a handful of commands and two replies.
"""

from __future__ import annotations

from dataclasses import dataclass

from testkit.compat.differences import PartingWaysError, explain
from testkit.compat.generic_commands import comparable
from testkit.compat.replies import Reply, parse, show
from testkit.compat.scripts import Command, Script
from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess


@dataclass
class Difference:
    """The first difference: the command, and both replies."""

    script: Script
    index: int
    redis: bytes
    forebay: bytes

    def __str__(self) -> str:
        lines = [f"  {i:3} {' '.join(map(quoted, c))}" for i, c in enumerate(self.script)]
        lines[self.index] = lines[self.index].replace("   ", ">> ", 1)
        told = [f"redis:   {show(self.redis)}", f"forebay: {show(self.forebay)}"]
        return "\n".join(["replies differ:", *lines, *told])


def quoted(word: str) -> str:
    """A word as a person would type it."""
    return word if word and " " not in word else f'"{word}"'


def play(server: ServerProcess, script: Script) -> list[bytes]:
    """All replies of one script, on a new connection to an emptied server."""
    with server.client(unix=True) as client:
        return play_on(client, script)


def play_on(client: RawClient, script: Script) -> list[bytes]:
    """The same on an open connection."""
    client.send(encode("FLUSHALL") + b"".join(encode(*command) for command in script))
    return client.read_many(len(script) + 1)[1:]


def first_difference(script: Script, redis: list[bytes], forebay: list[bytes]) -> Difference | None:
    """The first command whose replies differ without an explanation."""
    try:
        return walk(script, redis, forebay)
    except PartingWaysError:
        return None


def walk(script: Script, redis: list[bytes], forebay: list[bytes]) -> Difference | None:
    """The same; stops at an explained difference after which the data differs."""
    queue: list[Command] = []
    for i, command in enumerate(script):
        words = [word.encode() for word in command]
        left, right = comparable(words, redis[i]), comparable(words, forebay[i])
        if left != right and not same(command, queue, left, right):
            return Difference(script, i, redis[i], forebay[i])
        if redis[i] == b"+QUEUED\r\n":
            queue.append(command)
        elif command[0].upper() in ("EXEC", "DISCARD"):
            queue = []
    return None


def same(command: Command, queue: list[Command], redis: bytes, forebay: bytes) -> bool:
    """Whether two replies mean the same, up to times and listed differences."""
    left, right = parse(redis), parse(forebay)
    if command[0].upper() == "EXEC" and left.items and len(left.items) == len(right.items):
        pairs = zip(queue, left.items, right.items, strict=True)
        return all(same_tree(*pair) for pair in pairs)
    return same_tree(command, left, right)


def same_tree(command: Command, redis: Reply, forebay: Reply) -> bool:
    """The same for one command's reply."""
    if redis == forebay:
        return True
    explain([word.upper() for word in command[:2]], command, redis, forebay)
    return redis == forebay


def compare(redis: ServerProcess, forebay: ServerProcess, script: Script) -> Difference | None:
    """Play a script on both."""
    return first_difference(script, play(redis, script), play(forebay, script))


def shrink(redis: ServerProcess, forebay: ServerProcess, script: Script) -> Difference:
    """The smallest script found that still differs."""
    found = compare(redis, forebay, script)
    assert found is not None, "the difference does not come back on a fresh connection"
    size = len(found.script) // 2
    while size:
        at = 0
        while at < len(found.script):
            shorter = found.script[:at] + found.script[at + size :]
            smaller = compare(redis, forebay, shorter) if shorter else None
            if smaller is None:
                at += size
            else:
                found = smaller
                found.script = found.script[: found.index + 1]
        size //= 2
    return found


def check(redis: ServerProcess, forebay: ServerProcess, scripts: list[Script]) -> int:
    """Play many scripts; fail with the smallest difference; returns the number of commands."""
    with redis.client(unix=True) as left, forebay.client(unix=True) as right:
        for script in scripts:
            found = first_difference(script, play_on(left, script), play_on(right, script))
            if found is not None:
                raise AssertionError(str(shrink(redis, forebay, script[: found.index + 1])))
    return sum(map(len, scripts))
