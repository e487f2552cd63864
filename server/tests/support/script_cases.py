"""The results of the well-known scripts in every situation that matters, as text to compare.

    python -m server.tests.support.script_cases texts.json PORT > known_scripts.json

takes the outcomes from a real server.  ``texts.json`` maps any names to the texts of the scripts,
as their libraries send them; they belong to those libraries and are not kept here.  Engine tests
run the same cases by SHA1 and must get the same outcomes.

A case is a state of the key with a list of arguments.  Its outcome is the reply and the values of
the keys afterwards; times are rounded to seconds, since a real server's clock runs on.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from testkit.resp import RawClient

Send = Callable[..., bytes]

#: Values of the lock's key before the script runs.
BEFORE: list[list[str]] = [
    [],
    ["SET", "lock:k", "me"],
    ["SET", "lock:k", "me", "PX", "100000"],
    ["SET", "lock:k", "other", "PX", "100000"],
    ["SET", "lock:k", "5"],
    ["RPUSH", "lock:k", "x"],
]
#: ``numkeys``, keys and arguments.
CALLS: list[list[str]] = [
    ["0"],
    ["1", "lock:k"],
    ["2", "lock:k", "lock-signal:k", "me", "50000"],
    ["1", "lock:k", "me", "50000", "0"],
    ["1", "lock:k", "me", "50000", "1"],
    ["1", "lock:k", "me", "50000", "yes"],
    ["2", "lock:k", "lock-signal:k", "me", "soon", "0"],
    ["1", "lock:k", "me", "-1", "0"],
    ["1", "lock:k", "5", "50000"],
    ["1", "lock:k", "50000", "7000"],
    ["1", "lock:k", "new", "me"],
    ["1", "lock:k", "new", "me", "PX", "50000"],
]
KEYS = ("lock:k", "lock-signal:k")
TIME = re.compile(rb"(?<=:)[0-9]{4,}(?=\r)")


def cases() -> Iterator[tuple[list[str], list[str], str]]:
    """The state before, the call, and the command that runs it."""
    for before in BEFORE:
        for call in CALLS:
            yield before, call, "EVALSHA"
        yield before, CALLS[3], "EVALSHA_RO"


def outcomes(send: Send, sha: str) -> Iterator[str]:
    """The outcome of each case; the script must have been loaded."""
    for before, call, command in cases():
        send("FLUSHALL")
        if before:
            send(*before)
        reply = TIME.sub(lambda found: _seconds(int(found[0])), send(command, sha, *call))
        text = b" ".join([reply, *(_state(send, key) for key in KEYS)]).decode()
        yield " ".join(text.split()).replace(sha, "SHA")


def _state(send: Send, key: str) -> bytes:
    read = ["LRANGE", key, "0", "-1"] if send("TYPE", key) == b"+list\r\n" else ["GET", key]
    left_ms = int(send("PTTL", key)[1:])
    return send(*read) + (b"%d" % left_ms if left_ms < 0 else _seconds(left_ms))


def _seconds(ms: int) -> bytes:
    return b"%d s" % -(-ms // 1000)


def record(send: Send, texts: dict[str, str]) -> dict[str, object]:
    """The outcomes of all scripts; each different outcome is kept once."""
    known: dict[str, int] = {}
    scripts = {}
    for text in texts.values():
        sha = hashlib.sha1(text.encode()).hexdigest()
        send("SCRIPT", "LOAD", text)
        scripts[sha] = [known.setdefault(outcome, len(known)) for outcome in outcomes(send, sha)]
    return {"outcomes": list(known), "scripts": scripts}


def recorded(path: Path) -> dict[str, list[str]]:
    """SHA1 -> the outcomes of a real server."""
    data = json.loads(path.read_text())
    return {sha: [data["outcomes"][i] for i in found] for sha, found in data["scripts"].items()}


if __name__ == "__main__":
    with RawClient(("127.0.0.1", int(sys.argv[2]))) as client:
        done = record(client.raw, json.loads(Path(sys.argv[1]).read_text()))
    lines = ",\n".join(f"{json.dumps(sha)}: {found}" for sha, found in done["scripts"].items())  # type: ignore[attr-defined]
    listed = ",\n".join(map(json.dumps, done["outcomes"]))  # type: ignore[call-overload]
    print(f'{{"outcomes": [\n{listed}\n],\n"scripts": {{\n{lines}\n}}}}')
