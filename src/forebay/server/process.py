"""The process around the server: signals, descriptors, background, supervision.

Everything here happens at start or at the end; nothing of it knows the engine.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
from collections.abc import Callable
from pathlib import Path

from forebay.errors import ConfigError

#: Descriptors that are not clients: standard streams, epoll, doors, log, files.
OWN_DESCRIPTORS = 32
#: New containers before the cycle collector looks at the young ones.  Hardly anything
#: here forms cycles, and a look at a large heap is a pause for every client.
YOUNG_OBJECTS = 50_000


class Signals:
    """SIGTERM and SIGINT as an event for the loop.

    The interpreter writes the number of a signal into a pipe as soon as it
    comes, also in the middle of compiled code; the loop reads it between turns.
    After the first one both have their default effect again: a second signal
    ends the process at once, whatever it is doing.
    """

    STOPPING = (signal.SIGTERM, signal.SIGINT)

    def __init__(self, on_stop: Callable[[str], None]) -> None:
        self.on_stop = on_stop
        self.inbox, self.outbox = socket.socketpair()
        self.inbox.setblocking(False)
        self.outbox.setblocking(False)
        signal.set_wakeup_fd(self.outbox.fileno(), warn_on_full_buffer=False)
        for number in self.STOPPING:
            signal.signal(number, _ignore)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def fileno(self) -> int:
        """The end to watch."""
        return self.inbox.fileno()

    def on_readable(self) -> None:
        """A signal came."""
        for number in self.inbox.recv(64):
            if number in self.STOPPING:
                for other in self.STOPPING:
                    signal.signal(other, signal.SIG_DFL)
                self.on_stop(signal.Signals(number).name)
                return

    def close(self) -> None:
        """Back to how it was."""
        signal.set_wakeup_fd(-1)
        self.inbox.close()
        self.outbox.close()


def _ignore(number: int, frame: object) -> None:
    """The pipe has it already."""


def make_room_for_clients(maxclients: int) -> int:
    """Raise the limit of descriptors; how many clients it allows."""
    needed = maxclients + OWN_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return maxclients
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    except (ValueError, OSError):
        allowed = soft
    return max(1, allowed - OWN_DESCRIPTORS)


def settle_memory() -> None:
    """What was made at start stays for good: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)


def go_to_background() -> None:
    """Leave the terminal: the caller's process ends, a child goes on."""
    if os.fork() > 0:
        os._exit(0)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    if nothing > 2:
        os.close(nothing)


def write_pidfile(path: str) -> None:
    """Tell others who we are."""
    try:
        Path(path).write_text(f"{os.getpid()}\n")
    except OSError as fault:
        raise ConfigError(f"cannot write the pid file {path}: {fault.strerror}") from fault


def remove_pidfile(path: str) -> None:
    """Nobody is here any more."""
    Path(path).unlink(missing_ok=True)


def notify_systemd(state: str) -> None:
    """Say READY=1 or STOPPING=1 to a supervisor that asked to be told (Type=notify)."""
    where = os.environ.get("NOTIFY_SOCKET", "")
    if not where:
        return
    address = "\0" + where[1:] if where.startswith("@") else where
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        try:
            sock.sendto(state.encode(), address)
        except OSError:
            return


class Halt(SystemExit):
    """Ends the process with this exit code from wherever it is raised; no reply is sent any more.

    It is not an Exception, so that nothing that guards the loop against faults stops it.
    """
