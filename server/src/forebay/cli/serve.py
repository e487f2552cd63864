"""``forebay serve``: start a server, or print help about its directives."""

from __future__ import annotations

import sys

HELP = """\
usage: forebay serve [FILE.conf | -] [--DIRECTIVE VALUE ...]

Starts a server.  FILE.conf is in the syntax of redis.conf; a single - reads it
from standard input.  Every directive can also be given as an option, which
then wins over the file; the value follows after a space (--port 7000).

  forebay serve --help DIRECTIVE   what a directive does, e.g. --help appendfsync
  forebay serve --help all         one line about each of them

The ones used most:
  --port 6379                      TCP port; 0 for none
  --bind 127.0.0.1 -::1            addresses; a leading - means "if it exists"
  --unixsocket PATH                also listen on a unix socket
  --unixsocketperm 700             with this mode
  --requirepass SECRET             clients must AUTH
  --protected-mode yes             without a password only local clients
  --maxclients 10000               further connections are turned away
  --timeout 0                      close clients idle for this many seconds
  --maxmemory 0                    refuse writes above this, e.g. 512mb
  --dir .                          where the files are; made if it is missing
  --appendonly yes                 an AOF of every change: acknowledged writes are kept
  --appendfsync everysec           always: on disk before each reply; no: when the system likes
  --save ""                        snapshots, e.g. 3600 1 300 100
  --client-output-buffer-limit normal 1gb 0 0
                                   close clients that do not read
  --stream-node-max-entries 100    entries in one node of a stream
  --notify-keyspace-events ""      e.g. KEA
  --loglevel notice                debug, verbose, notice, warning
  --logfile ""                     a file instead of standard output
  --console 8001                   the console too, if it is installed, until the server ends
  --daemonize no                   yes runs it in the background: the command ends when the
                                   data is loaded, and its exit code tells if there is a server

examples:
  forebay serve
  forebay serve forebay.conf --port 7000
  echo 'port 7000' | forebay serve -

It stops on SIGTERM, SIGINT (ctrl-c) or the SHUTDOWN command, after the
replies that are under way; a second signal stops it at once.
"""


def run(args: list[str]) -> int:
    """Start the server and wait until it ends."""
    if args and args[0] == "-h":
        return explain(args[1:])
    if "--help" in args:
        return explain(args[args.index("--help") + 1 :])
    if "--console" in args:
        from forebay.cli.serve_console import serve_with_console

        return serve_with_console(args)
    from forebay.server.startup import serve

    return serve(args)


def explain(names: list[str]) -> int:
    """Print --help: the page, or the help of some directives."""
    if not names:
        sys.stdout.write(HELP)
        return 0
    from forebay.server.config.help import described

    sys.stdout.write(described(names))
    return 0
