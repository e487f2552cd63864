"""A running ``forebay work`` in its own folder, for the tests of the commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from testkit.servers import environment, free_port
from testkit.waiting import wait_until
from workers.tests.support.target import Target

SHOP = """
import os, redis
from forebay_workers import App, Retry
app = App({url!r}, group="g", lease=1)
client = redis.Redis.from_url({url!r})

@app.on("s", retry=Retry(1))
async def handler(fields: dict) -> None:
    if fields["n"] == "boom":
        raise ValueError("boom")
    client.rpush({key!r}, f"{{fields['n']}}/{{os.getpid()}}")
"""


class Work:
    """A running ``forebay work`` in its own folder."""

    def __init__(self, target: Target, folder: Path) -> None:
        self.target, self.folder = target, folder
        self.port = free_port()
        self.process: subprocess.Popen[str] | None = None
        self.write("done")

    def write(self, key: str) -> None:
        (self.folder / "shop.py").write_text(SHOP.format(url=self.target.url, key=key))

    def start(self, *words: str, place: str = "shop:app") -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "forebay", "work", place, *words]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment(), stderr=subprocess.PIPE, text=True
        )
        return self.process

    def start_on_terminal(self, *words: str) -> int:
        """The same at a terminal; returns the descriptor of our end."""
        ours, theirs = os.openpty()
        command = [sys.executable, "-m", "forebay", "work", "shop:app", *words]
        outputs: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
        env = {**environment(), "TERM": "xterm", "COLUMNS": "150"}
        self.process = subprocess.Popen(command, cwd=self.folder, env=env, text=True, **outputs)
        os.close(theirs)
        return ours

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except (urllib.error.URLError, OSError):
            return 0, ""

    def ready(self) -> None:
        wait_until("ready", lambda: self.get("/ready")[0] == 200)

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def done(self, key: str = "done") -> list[str]:
        found: Any = self.target.client.lrange(key, 0, -1)
        return list(found)

    def children(self) -> list[int]:
        assert self.process is not None
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in path.read_text().split()]
