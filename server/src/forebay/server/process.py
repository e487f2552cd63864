"""The process around the server: signals, descriptors, background, supervision.

Everything here happens at start or at the end; none of it knows the engine.

    daemonize yes

    forebay serve --fork--> the server      opens doors, takes the directory, loads the data
      |  waits                 |            errors are printed on the same terminal
      |<------ pipe: a byte ---|  ready: leaves the terminal
      '- exit code 0           '
         the pipe ends without a byte: the server is gone, and its exit code is passed on
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from forebay.errors import ConfigError

#: Descriptors that are not clients: standard streams, epoll, doors, log, files.
OWN_DESCRIPTORS = 32
#: New containers before the cycle collector looks at the young ones.  Hardly anything
#: here forms cycles, and each collection of a large heap is a pause for every client.
YOUNG_OBJECTS = 50_000
#: How long the starter of a background server waits before it says why it waits.
PATIENCE_S = 3.0
READY = b"R"


class Signals:
    """SIGTERM and SIGINT as an event for the loop.

    The interpreter writes the number of a signal into a pipe as soon as it
    arrives, also in the middle of compiled code; the loop reads it between turns.
    After the first one both have their default effect again: a second signal
    always ends the process at once.
    """

    STOPPING = (signal.SIGTERM, signal.SIGINT)

    def __init__(self, on_stop: Callable[[str], None]) -> None:
        self.on_stop = on_stop
        self.inbox, self.outbox = socket.socketpair()
        self.inbox.setblocking(False)
        self.outbox.setblocking(False)
        signal.set_wakeup_fd(self.outbox.fileno(), warn_on_full_buffer=False)
        self.arm()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def arm(self) -> None:
        """Treat the next signal as a first one."""
        for number in self.STOPPING:
            signal.signal(number, _ignore)

    def fileno(self) -> int:
        """The end of the pipe to watch."""
        return self.inbox.fileno()

    def on_readable(self) -> None:
        """A signal has arrived."""
        for number in self.inbox.recv(64):
            if number in self.STOPPING:
                for other in self.STOPPING:
                    signal.signal(other, signal.SIG_DFL)
                self.on_stop(signal.Signals(number).name)
                return

    def close(self) -> None:
        """Restore the signal handlers."""
        signal.set_wakeup_fd(-1)
        self.inbox.close()
        self.outbox.close()


def _ignore(number: int, frame: object) -> None:
    """Nothing to do: the signal is in the pipe already."""


def make_room_for_clients(maxclients: int) -> int:
    """Raise the limit of descriptors; how many clients that allows."""
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
    """Objects made at start live for ever: the collector need not look at them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 20, 50)


class Foreground:
    """A server in the foreground: no starter waits for it."""

    def ready(self) -> None:
        """All data is there."""


class Background(Foreground):
    """A server whose starter waits at the other end of a pipe."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def ready(self) -> None:
        """Let the starter go, and leave its terminal for good."""
        sys.stdout.flush()
        sys.stderr.flush()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        if nothing > 2:
            os.close(nothing)
        try:
            os.write(self.pipe, READY)
        except BrokenPipeError:
            return  # the starter has ended meanwhile; the server goes on without it
        finally:
            os.close(self.pipe)


def go_to_background() -> Background:
    """Go on in a child of this process, which itself ends when the child is ready or gone."""
    ours, theirs = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child > 0:
        os.close(theirs)
        os._exit(wait_for(child, ours))
    os.close(ours)
    os.setsid()
    return Background(theirs)


def wait_for(child: int, pipe: int) -> int:
    """Wait until the background server is ready, or gone; the exit code of its starter.

    There is no limit: as long as the child lives, it loads data or waits for the disk.  But each
    single wait is short: Ctrl-C just before a system call is noticed when the call returns.
    """
    is_told = False
    try:
        while not select.select([pipe], [], [], PATIENCE_S)[0]:
            if not is_told:
                sys.stderr.write(f"forebay: process {child} is loading the data, please wait\n")
                is_told = True
        if os.read(pipe, 1) == READY:
            return 0
    except KeyboardInterrupt:
        sys.stderr.write(f"forebay: process {child} goes on in the background\n")
        return 1
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code <= 0:
        how = f"ended by {signal.Signals(-code).name}" if code else "stopped"
        sys.stderr.write(f"forebay: the server was {how} before it was ready\n")
    sys.stderr.flush()
    return code if code > 0 else 1


def write_pidfile(path: str) -> None:
    """Write our process id to a file."""
    try:
        Path(path).write_text(f"{os.getpid()}\n")
    except OSError as fault:
        raise ConfigError(f"cannot write the pid file {path}: {fault.strerror}") from fault


def remove_pidfile(path: str) -> None:
    """Remove the file at the end."""
    with suppress(OSError):  # we may have lost the right to write to its folder
        Path(path).unlink(missing_ok=True)


def notify_systemd(state: str) -> None:
    """Send READY=1 or STOPPING=1 to a supervisor that asked for it (Type=notify)."""
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
    """Ends the process with this exit code from anywhere; no reply is sent any more.

    It is not an Exception, so that the code that guards the loop against faults does not catch it.
    """
