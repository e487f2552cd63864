"""R20: a stranger on the network gets only an error line from a server without a password.

A server in a network namespace listens on the address of its cable and on the loopback, in
protected mode.  A client at the other end of the cable gets the reason, whatever it sends, and the
connection is closed; a client on the same machine is served.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from reliability import fuzz_goals
from reliability.goals import Outcome
from testkit.network import Namespaces, has_namespaces
from testkit.resp import RawClient, encode
from testkit.servers import ServerProcess

#: The first requests of a stranger.
WORDS = (
    (b"PING",),
    (b"CONFIG", b"SET", b"protected-mode", b"no"),
    (b"HELLO", b"3"),
    (b"AUTH", b"guess"),
    (b"REPLICAOF", b"NO", b"ONE"),
    (b"PSYNC", b"?", b"-1"),
    (b"SHUTDOWN",),
    (b"SET", b"k", b"v"),
)
DENIED = b"-DENIED Redis is running in protected mode"


def lines_and_strangers(n: int, seed: int, scratch: Path) -> Outcome:
    """R20: ``n`` requests with hostile words; and strangers, where namespaces can be made."""
    outcome = fuzz_goals.echoes(n, seed, scratch)
    if has_namespaces():
        outcome.failures += strangers(scratch)
        outcome.count("strangers", len(WORDS))
    return outcome


def strangers(scratch: Path) -> list[str]:
    """Replies that a stranger should not have got; needs root."""
    network, folder = Namespaces(), scratch / "guarded"
    folder.mkdir()
    try:
        place = network.place()
        words = ["--bind", place.bind, "127.0.0.1", "--port", str(place.port)]
        words += ["--unixsocket", str(folder / "sock"), "--appendonly", "no", "--save", ""]
        command = [*place.prefix, sys.executable, "-m", "forebay", "serve", *words]
        server = ServerProcess("forebay", command, folder, place.port)
        try:
            return denied_faults(place.address) + local_faults(place.prefix, place.port)
        finally:
            server.stop()
    finally:
        network.close()


def denied_faults(address: tuple[str, int]) -> list[str]:
    """Every word from outside is answered with the same line, and the connection is closed."""
    faults = []
    for words in WORDS:
        with RawClient(address) as client:
            out = fuzz_goals.everything(client, encode(*words))
        if not out.startswith(DENIED) or out.count(b"\n") != 1:
            faults.append(f"a stranger who said {words!r} got {out[:200]!r}")
    return faults


def local_faults(prefix: tuple[str, ...], port: int) -> list[str]:
    """A client of the same machine is served, and finds nothing changed."""
    command = [*prefix, "redis-cli", "-h", "127.0.0.1", "-p", str(port)]
    said = subprocess.run([*command, "DBSIZE"], capture_output=True, text=True, check=True)
    mode = subprocess.run(
        [*command, "CONFIG", "GET", "protected-mode"], capture_output=True, text=True, check=True
    )
    is_good = said.stdout.strip() == "0" and mode.stdout.split() == ["protected-mode", "yes"]
    return [] if is_good else [f"a local client got {said.stdout!r}, {mode.stdout!r}"]
