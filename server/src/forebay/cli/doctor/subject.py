"""The server for which a machine is judged: one that runs here, or one that would be started.

For a server that runs here its process is known: then its own limits count, the memory that it
holds, and the directory that it writes to.  Two checks prove that it runs here, the address of
the connection and the age of the process with its pid: nodes that were cloned and started
together have equal pids, and a port may lead into a container.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from forebay.cli.doctor.patient import Look
from forebay.cli.doctor.tree import Tree
from forebay.cli.remote.address import Address
from forebay.cli.words import whole
from forebay.commands.api.settings import Settings

#: INFO counts whole seconds, and the process is a little older than the server in it.
AGE_DIFFERENCE_S = 5.0

_USUAL = Settings()


@dataclass(frozen=True, slots=True)
class Subject:
    """The load on the machine; ``pid`` is None if no server runs here."""

    folder: Path
    pid: int | None = None
    address: Address = field(default_factory=Address)
    maxclients: int = _USUAL.maxclients
    tcp_backlog: int = _USUAL.tcp_backlog
    appendfsync: str = "everysec"
    maxmemory: int = 0
    #: Memory that a fork may have to copy.
    held_bytes: int = 0
    #: Bytes that the next rewrite or snapshot writes in addition to the old files.
    rewrite_bytes: int = 0

    @property
    def process(self) -> str:
        """Its folder in /proc; our own if no server runs."""
        return f"/proc/{self.pid or 'self'}"


def pid_here(tree: Tree, look: Look) -> int | None:
    """The process of a server on this machine; None if the process is another one."""
    pid, uptime_s = whole(look.info.get("process_id")), whole(look.info.get("uptime_in_seconds"))
    age_s = None if pid is None else tree.process_age_s(pid)
    if age_s is None or uptime_s is None or abs(age_s - uptime_s) > AGE_DIFFERENCE_S:
        return None
    return pid


def subject_of(pid: int, look: Look, settings: Mapping[str, str], address: Address) -> Subject:
    """A server that runs here."""
    info = look.info
    used_bytes = whole(info.get("used_memory")) or 0
    return Subject(
        folder=Path(settings.get("dir", ".")),
        pid=pid,
        address=address,
        maxclients=whole(settings.get("maxclients")) or _USUAL.maxclients,
        tcp_backlog=whole(settings.get("tcp-backlog")) or _USUAL.tcp_backlog,
        appendfsync=settings.get("appendfsync", "everysec"),
        maxmemory=whole(settings.get("maxmemory")) or 0,
        held_bytes=whole(info.get("used_memory_rss")) or used_bytes,
        rewrite_bytes=whole(info.get("aof_current_size")) or used_bytes,
    )
