"""``forebay console``: serve the page until ctrl-c."""

from __future__ import annotations

import socket
import sys
import threading
from typing import Annotated

import uvicorn
from cyclopts import App, Parameter

from forebay.cli.remote.address import DEFAULT_URL, parse_url
from forebay.cli.remote.option import Url
from forebay.errors import ForebayError
from forebay_console.web.app import Console, Settings

EPILOG = """\
The page is read-only without --write.  It asks for the name and password of a user of the server,
unless the server needs no password.  It shows only what that user may see.

examples:
  forebay console
  forebay console --url redis://10.0.0.5:6379 --port 8001
  forebay console --write
  forebay console --bind 0.0.0.0 --host streams.example.org
"""


class ConsoleError(ForebayError):
    """The console cannot start; the text says why."""


app = App(name="console", help="A web page over the streams of a server.", help_epilogue=EPILOG)

Port = Annotated[int, Parameter(metavar="PORT", show_default=True, help="port of the page")]
Bind = Annotated[str, Parameter(metavar="ADDRESS", show_default=True, help="address to listen at")]
Hosts = Annotated[
    tuple[str, ...],
    Parameter(name="--host", metavar="NAME", help="a further host name of the page"),
]


@app.default
def console(
    *,
    port: Port = 8001,
    bind: Bind = "127.0.0.1",
    host: Hosts = (),
    write: Annotated[bool, Parameter(help="let viewers make changes")] = False,
    consumer_metrics: Annotated[
        bool, Parameter(help="series for each consumer in /metrics")
    ] = False,
    until_eof: Annotated[bool, Parameter(help="end when standard input ends")] = False,
    url: Url = None,
) -> int:
    """Serve the page."""
    address = url or parse_url(DEFAULT_URL)
    listener = listening(bind, port)
    settings = Settings(address, write, (*host, bind), consumer_metrics)
    where = f"http://{shown_host(bind)}:{listener.getsockname()[1]}/"
    sys.stdout.write(f"The console of {address} is at {where}\n")
    sys.stdout.flush()
    served = uvicorn.Config(
        Console(settings).app(),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(served)
    if until_eof:
        threading.Thread(target=end_with_input, args=(server,), daemon=True).start()
    server.run([listener])
    return 0


def end_with_input(server: uvicorn.Server) -> None:
    """End when standard input ends: then the process that started the console has ended."""
    while sys.stdin.buffer.read(4096):
        pass
    server.should_exit = True


def listening(bind: str, port: int) -> socket.socket:
    """The socket of the page; it queues connections from now on."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        listener = socket.create_server((bind, port), family=family, backlog=512)
    except OSError as error:
        raise ConsoleError(
            f"the console cannot listen at {bind} port {port}: {error.strerror}; "
            "choose another with --port"
        ) from None
    # An answer is written in two parts: without this, its end waits 40 ms for an acknowledgement of
    # its beginning.  asyncio sets it only on sockets that name TCP as their protocol.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def shown_host(bind: str) -> str:
    """The host to type into a browser."""
    if bind in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{bind}]" if ":" in bind else bind
