#!/usr/bin/env python3
"""Exit code 0 if the server in this container answers; 1 if it does not, or is still loading.

It asks over the unix socket and needs no password: a server that asks for one is healthy.
"""

import os
import socket
import sys

PATH = os.path.join(os.environ.get("FOREBAY_HOME", "/data"), "forebay.sock")  # noqa: PTH118
GOOD = (b"+PONG", b"-NOAUTH")


def answer() -> bytes:
    """The server's answer to a PING; empty if there is none."""
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(2)
            sock.connect(PATH)
            sock.sendall(b"PING\r\n")
            return sock.recv(100)
    except OSError:
        return b""


if __name__ == "__main__":
    sys.exit(0 if answer().startswith(GOOD) else 1)
