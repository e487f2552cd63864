"""A worker as its own process, so that it can be killed.

python -m workers.tests.support.program URL STREAM [name=value ...]

handler=quick    RPUSH handled <n>
handler=hang     RPUSH begun <n>, then never ends
handler=mixed    hangs with the messages whose field ``hang`` is 1
handler=exit     RPUSH begun <n>; dies at once with the messages whose field ``kill`` is 1
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

from redis import asyncio as redis_asyncio

from forebay_workers import App, Message, Retry
from testkit.places import ROOT
from testkit.servers import environment


def start(url: str, stream: str = "s", **settings: object) -> subprocess.Popen[bytes]:
    """Start one."""
    words = [f"{name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "workers.tests.support.program", url, stream, *words]
    return subprocess.Popen(command, cwd=ROOT, env=child_environment())


def child_environment() -> dict[str, str]:
    """The environment in which a process finds our packages and the tests."""
    env = environment()
    return env | {"PYTHONPATH": os.pathsep.join([str(ROOT), env["PYTHONPATH"]])}


def build(url: str, stream: str, settings: dict[str, str]) -> App:
    """The app of such a process."""
    app = App(
        url,
        group="g",
        consumer=settings.get("consumer"),
        lease=float(settings.get("lease", 30)),
        grace=float(settings.get("grace", 30)),
    )
    client = redis_asyncio.Redis.from_url(url)
    kind = settings.get("handler", "quick")

    async def handle(fields: dict[str, Any], m: Message) -> None:
        await client.rpush("begun", f"{fields['n']}/{m.attempt}")
        if fields.get("kill") == "1":
            os._exit(9)
        if kind == "hang" or (kind == "mixed" and fields.get("hang") == "1"):
            await asyncio.Event().wait()
        await client.rpush("handled", fields["n"])

    options: dict[str, Any] = {"retry": Retry(int(settings.get("attempts", 5)), backoff=(0.05,))}
    if "concurrency" in settings:
        options["concurrency"] = int(settings["concurrency"])
    app.on(stream, **options)(handle)
    return app


if __name__ == "__main__":
    _, the_url, the_stream, *words = sys.argv
    asyncio.run(build(the_url, the_stream, dict(w.split("=") for w in words)).run())
