"""Memory of the machine: room for a fork, swap, and the limit of a container.

A forked child writes snapshots, rewrites and full syncs.  It shares all pages with the server;
each page that the server writes meanwhile is copied, in the worst case all of them.

    free for a fork = the least of    MemAvailable
                                      limit - use, of each control group above the process
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.subject import Subject
from forebay.cli.doctor.tree import Tree
from forebay.cli.words import MB, size, sysctl, whole

FORK, SWAP, GROUP = "memory for a fork", "swap", "memory limit"
#: With less data than this, a fork is no concern.
SMALL_BYTES = 64 * MB
#: A server with few writes copies about this share of its memory.
LEAST_SHARE = 0.1
#: The data of a server in a container, as a share of its limit: the rest is for a fork and buffers.
LIMIT_SHARE = 0.6
#: Version 1 of control groups says "no limit" with a very large number.
NO_LIMIT = 1 << 60


class Group(NamedTuple):
    """A control group with a limit."""

    name: str
    limit_bytes: int
    used_bytes: int

    @property
    def room_bytes(self) -> int:
        """Memory that may still be taken."""
        return max(0, self.limit_bytes - self.used_bytes)


class Version(NamedTuple):
    """Names of the files of control groups, which differ by version."""

    folder: str
    limit: str
    used: str
    cache: str


V1 = Version(
    "/sys/fs/cgroup/memory",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file",
)
V2 = Version("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")


def tightest_group(tree: Tree, subject: Subject) -> Group | None:
    """The control group above the process that has the least room; None if none has a limit."""
    groups = []
    for line in (tree.text(f"{subject.process}/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if not kinds or "memory" in kinds.split(","):
            version = V1 if kinds else V2
            # In a container the path may be that of the host: then only the top exists.
            places = (PurePosixPath(path), *PurePosixPath(path).parents)
            groups += [_group(tree, version, str(place)) for place in places]
    limited = [group for group in groups if group is not None]
    return min(limited, key=lambda group: group.room_bytes, default=None)


def _group(tree: Tree, version: Version, path: str) -> Group | None:
    folder = version.folder + path.rstrip("/")
    limit = tree.number(f"{folder}/{version.limit}")
    used = tree.number(f"{folder}/{version.used}")
    if limit is None or limit >= NO_LIMIT or used is None:
        return None
    cache = whole(tree.fields(f"{folder}/memory.stat").get(version.cache)) or 0
    return Group(folder, limit, used - cache)


def fork_finding(tree: Tree, subject: Subject) -> Finding:
    """Whether there is memory for the pages that a fork may have to copy."""
    available = tree.size("/proc/meminfo", "MemAvailable")
    if available is None:
        return unknown(FORK, "/proc/meminfo does not tell how much memory is free")
    group = tightest_group(tree, subject)
    free = available if group is None else min(available, group.room_bytes)
    held = subject.held_bytes
    facts = {"free_bytes": free, "held_bytes": held}
    said = f"{size(free)} of memory are free"
    if held < SMALL_BYTES:
        return ok(FORK, said, **facts)
    do = f"free -m; ps -o pid,rss,comm -p {subject.pid}"
    if free < held * LEAST_SHARE:
        return problem(
            FORK,
            f"{said}, and the server holds {size(held)}: a snapshot, a rewrite or a full sync "
            "copies what changes meanwhile, and may get the server killed",
            do,
            **facts,
        )
    if free < held:
        return advice(
            FORK,
            f"{said}, less than the {size(held)} that the server holds: enough for a snapshot "
            "if there are few writes meanwhile, but not for the worst case",
            do,
            **facts,
        )
    return ok(FORK, f"{said}, more than the {size(held)} that the server holds", **facts)


def swap_finding(tree: Tree, subject: Subject) -> Finding:
    """Whether memory of the server is in swap."""
    total = tree.size("/proc/meminfo", "SwapTotal")
    if total is None:
        return unknown(SWAP, "/proc/meminfo does not tell how much swap there is")
    swapped = tree.size(f"{subject.process}/status", "VmSwap") if subject.pid else 0
    facts = {"swap_bytes": total, "server_swapped_bytes": swapped}
    if swapped is not None and swapped > max(MB, subject.held_bytes // 100):
        return problem(
            SWAP,
            f"{size(swapped)} of the server's memory are in swap, and commands that need it wait: "
            "give the machine more memory, or the server less",
            sysctl("vm.swappiness", 1),
            **facts,
        )
    if not total:
        return ok(SWAP, "There is no swap: memory is never on the disk", **facts)
    return ok(SWAP, f"{size(total)} of swap, and no memory of the server is in it", **facts)


def group_finding(tree: Tree, subject: Subject) -> Finding:
    """Whether a container's limit kills the server before it refuses writes."""
    group = tightest_group(tree, subject)
    if group is None:
        if tree.text(f"{subject.process}/cgroup") is None:
            return unknown(GROUP, f"{subject.process}/cgroup cannot be read")
        return ok(GROUP, "No control group limits the memory")
    facts = {"limit_bytes": group.limit_bytes, "used_bytes": group.used_bytes, "group": group.name}
    said = f"A control group allows {size(group.limit_bytes)} of memory"
    fitting = int(group.limit_bytes * LIMIT_SHARE)
    if 0 < subject.maxmemory <= group.limit_bytes * 0.9:
        return ok(GROUP, f"{said}, and maxmemory is {size(subject.maxmemory)}", **facts)
    told = (
        f"maxmemory is {size(subject.maxmemory)}" if subject.maxmemory else "there is no maxmemory"
    )
    do = f"forebay serve --maxmemory {fitting // MB}mb"
    if subject.pid:
        do = subject.address.setting("maxmemory", f"{fitting // MB}mb")
    return advice(
        GROUP,
        f"{said} and {told}: the kernel kills the server before it refuses a write",
        do,
        **facts,
    )
