"""The JVM and its Python workers talk over Unix sockets, in a folder that only the owner may enter.

    over TCP, Spark's default     each task waits 40 ms more: one side holds back a last small
                                  piece until the other acknowledges the one before, and the
                                  other waits to see whether it has something to say as well
    over Unix sockets             nothing is acknowledged, nothing waits

Over TCP both sides prove that they know a secret; over Unix sockets they do not, so the right to
open the socket is all the protection there is.  Spark's own folder for them is the one for
temporary files, which everybody may enter.

Only for local sessions: the machines of a cluster do not have the folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

ENABLED = "spark.python.unix.domain.socket.enabled"
FOLDER = "spark.python.unix.domain.socket.dir"
#: Spark refuses a longer one: the path of a socket has 104 characters at most.
LONGEST_FOLDER = 61


def socket_settings(master: str) -> dict[str, str]:
    """What a session needs for it; nothing on a cluster, or where it is not possible."""
    if not master.startswith("local") or not hasattr(socket, "AF_UNIX"):
        return {}
    folder = _own_folder()
    return {} if folder is None else {ENABLED: "true", FOLDER: folder}


@lru_cache(maxsize=1)
def _own_folder() -> str | None:
    """A folder that is removed when this process ends; None if its name would be too long."""
    folder = mkdtemp(prefix="forebay-")
    if len(folder) > LONGEST_FOLDER:
        Path(folder).rmdir()
        return None
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
