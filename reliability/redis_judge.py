"""A real redis-server as judge: does it load this AOF, and does it see the same data?"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from forebay.commands.admin.digest import keyspace_digest
from forebay.core.keyspace import Keyspace
from testkit.oracle import find, start_redis
from testkit.resp import RawClient
from testkit.waiting import wait_until

LOG_ON = ("--appendonly", "yes")


def put_files(files: Mapping[str, bytes], root: Path) -> None:
    """Write the files of an AOF, /data/... , below a real folder."""
    for path, data in files.items():
        target = root / path.removeprefix("/data/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def check_aof(folder: Path) -> str:
    """The complaint of redis-check-aof about an AOF; empty if it is good."""
    manifest = str(folder / "appendonlydir" / "appendonly.aof.manifest")
    done = subprocess.run(
        [find("redis-check-aof"), manifest], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else f"redis-check-aof: {done.stdout[-500:]}{done.stderr}"


@contextmanager
def redis_on(folder: Path, *directives: str) -> Iterator[RawClient]:
    """A connection to a redis-server that has loaded the AOF of a folder."""
    server = start_redis(folder, *LOG_ON, *directives)
    try:
        with server.client(unix=True) as client:
            wait_until("the AOF is loaded", lambda: b"loading:0" in client("INFO", "persistence"))
            yield client
    finally:
        server.stop()


def accepts(files: Mapping[str, bytes], keyspace: Keyspace, scratch: Path) -> str:
    """The complaint of redis-check-aof or redis-server about these files; empty if none."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    try:
        put_files(files, folder)
        problem = check_aof(folder)
        if problem:
            return problem
        with redis_on(folder) as client:
            theirs = client("DEBUG", "DIGEST")
        ours = keyspace_digest(keyspace).hex()
        return "" if theirs == ours else f"redis-server has digest {theirs}, Forebay {ours}"
    except RuntimeError as error:
        return f"redis-server does not load it: {error}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
