"""``forebay serve --console PORT``: a console in a process of its own, until the server ends.

    server process  --stdin of the child-->  console process
         |  ends in any way                       |  reads the end of its input, and ends

The address and the password of the server go to the child through its environment: every user of
the machine can read a command line.  The console waits for a server that is not up yet.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from urllib.parse import quote

from forebay.cli.plugins import how_to_get
from forebay.errors import ConfigError
from forebay.server.config.config import Config
from forebay.server.startup import serve

OPTION = "--console"
LAST_WORDS_S = 5.0


def serve_with_console(args: Sequence[str]) -> int:
    """Run a server and a console; the exit code of the server."""
    try:
        words, port = without_console(args)
        config = config_of(words)
    except ConfigError as error:
        sys.stderr.write(f"forebay: {error}\n")
        return 1
    with console_beside(config, port):
        return serve(words)


def without_console(args: Sequence[str]) -> tuple[list[str], str]:
    """The words for the server, and the port of the console."""
    words = list(args)
    at = words.index(OPTION)
    port = words[at + 1] if at + 1 < len(words) else ""
    if not port.isdecimal() or int(port) > 65_535:
        raise ConfigError(f"{OPTION} wants a port, as in {OPTION} 8001")
    return words[:at] + words[at + 2 :], port


def config_of(words: Sequence[str]) -> Config:
    """The configuration of the server; ConfigError if it cannot have a console."""
    if find_spec("forebay_console") is None:
        raise ConfigError(how_to_get("console"))
    if "-" in words:
        raise ConfigError(f"{OPTION} needs the configuration in a file, not in standard input")
    config = Config.load(words)
    if config.settings.daemonize:
        raise ConfigError(f"{OPTION} needs a server in the foreground; run forebay console instead")
    return config


@contextmanager
def console_beside(config: Config, port: str) -> Iterator[None]:
    """Run a console for the server, during the ``with`` block."""
    child = subprocess.Popen(
        [sys.executable, "-m", "forebay", "console", "--port", port, "--until-eof"],
        stdin=subprocess.PIPE,
        env={**os.environ, "FOREBAY_URL": url_of(config)},
    )
    try:
        yield
    finally:
        child.communicate(timeout=LAST_WORDS_S)


def url_of(config: Config) -> str:
    """The URL of the server, on this machine."""
    settings = config.settings
    secret = f":{quote(settings.requirepass, safe='')}@" if settings.requirepass else ""
    if settings.port:
        return f"redis://{secret}127.0.0.1:{settings.port}"
    return f"unix://{secret}{settings.unixsocket}"
