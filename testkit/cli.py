"""redis-cli, run once."""

from __future__ import annotations

import subprocess

from testkit.nodes import Node
from testkit.oracle import find


def redis_cli(node: Node, *words: str, timeout_s: float = 60.0) -> str:
    """The output of redis-cli for these words, both streams; it must end well."""
    host, port = node.address
    command = [find("redis-cli"), "-h", host, "-p", str(port), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr}"
    return done.stdout + done.stderr
