"""The disk: how fast it syncs, what kind it is, how much room it has.

A sync is measured as an AOF does it: append a few bytes, fdatasync, repeat.  The file has no name,
so that nothing is left in the data directory, not even after kill -9.  The test shares the disk
with the server's own writes, so it is short and stops early.
"""

from __future__ import annotations

import os
import shlex
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.subject import Subject
from forebay.cli.doctor.tree import Tree
from forebay.cli.words import size, span

APPEND = b"x" * 200  # an XADD of a few fields
MOST_SYNCS = 1000
LONGEST_S = 2.0

#: With everysec, a sync that takes as long as its period stops writers.
STOPS_S = 1.0
#: With everysec, a sync this slow does not delay clients yet, but may in a busy hour.
SLOW_S = 0.1
#: With always each write waits for its sync.
WAITS_S = 0.01
#: No disk is this fast: a cache answers before the bytes are safe.
UNBELIEVABLE_S = 10e-6

TOPIC, KIND, SPACE = "disk sync", "file system", "disk space"
IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
OVER_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs")
LEAST_FREE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class SyncTimes:
    """How long syncs took, in seconds, sorted."""

    sorted_s: tuple[float, ...]

    @property
    def median_s(self) -> float:
        return self.sorted_s[len(self.sorted_s) // 2]

    @property
    def p99_s(self) -> float:
        return self.sorted_s[len(self.sorted_s) * 99 // 100]

    @property
    def each_second(self) -> int:
        return int(len(self.sorted_s) / max(sum(self.sorted_s), 1e-9))


def measure_syncs(folder: Path, longest_s: float) -> SyncTimes:
    """Append and sync repeatedly, for a time; OSError if the folder cannot be written to."""
    taken: list[float] = []
    with tempfile.TemporaryFile(dir=folder, prefix="forebay-doctor-", buffering=0) as file:
        end_s = time.perf_counter() + min(longest_s, LONGEST_S)
        while not taken or (len(taken) < MOST_SYNCS and time.perf_counter() < end_s):
            file.write(APPEND)
            begun_s = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begun_s)
    return SyncTimes(tuple(sorted(taken)))


def sync_finding(subject: Subject, longest_s: float, is_asked_for: bool) -> Finding:
    """Measure the directory, and judge it; one that the user named must be usable."""
    try:
        times = measure_syncs(subject.folder, longest_s)
    except OSError as error:
        said = f"{subject.folder} cannot be written to ({error.strerror})"
        if is_asked_for:
            return problem(TOPIC, said, f"mkdir -p {shlex.quote(str(subject.folder))}")
        user = "sudo -u USER_OF_THE_SERVER forebay doctor"
        return unknown(TOPIC, f"{said}, so its speed was not measured", user)
    return judge_syncs(subject, times)


def judge_syncs(subject: Subject, times: SyncTimes) -> Finding:
    """What the speed of syncs means for ``appendfsync``."""
    median, p99 = span(times.median_s), span(times.p99_s)
    facts = {
        "syncs": len(times.sorted_s),
        "median_us": round(times.median_s * 1e6),
        "p99_us": round(times.p99_s * 1e6),
        "syncs_per_second": times.each_second,
    }
    said = f"A sync takes {median} (p99 {p99}), {times.each_second:,} a second one by one"
    elsewhere = "forebay doctor --dir /a/folder/on/another/disk"
    if times.p99_s >= STOPS_S:
        return problem(
            TOPIC,
            f"{said}: even with appendfsync everysec, writers stop until the disk has caught up",
            elsewhere,
            **facts,
        )
    if subject.appendfsync == "always" and times.median_s >= WAITS_S:
        return advice(
            TOPIC,
            f"{said}: appendfsync is always, so each write waits this long; everysec would not, "
            "but may lose the last second when power fails",
            subject.address.setting("appendfsync", "everysec"),
            **facts,
        )
    if times.p99_s >= SLOW_S:
        return advice(
            TOPIC,
            f"{said}: enough for appendfsync everysec, too slow for always; other work on this "
            "disk may stop writers",
            elsewhere,
            **facts,
        )
    if times.median_s < UNBELIEVABLE_S:
        return advice(
            TOPIC,
            f"{said}: no disk is this fast, so a cache answers; make sure that the cache "
            "survives a loss of power",
            "lsblk -o NAME,TYPE,TRAN,MODEL,FSTYPE,MOUNTPOINTS",
            **facts,
        )
    return ok(
        TOPIC,
        f"{said}: with appendfsync always a single writer waits this long for each write, with "
        "everysec no client waits",
        **facts,
    )


def kind_finding(tree: Tree, folder: Path) -> Finding:
    """Whether files in the folder survive a restart, and on what kind of disk they are."""
    mounts = tree.text("/proc/self/mountinfo")
    kind = mounted_kind(mounts or "", folder)
    if not kind:
        return unknown(KIND, "/proc/self/mountinfo does not tell what kind of disk this is")
    move = "forebay serve --dir /a/folder/on/a/local/disk"
    if kind in IN_MEMORY:
        return advice(
            KIND,
            f"{folder} is on {kind}, which is memory: all data is gone after a restart",
            move,
            kind=kind,
        )
    if kind in OVER_NETWORK:
        return advice(
            KIND,
            f"{folder} is on {kind}, a disk at the other end of a network: when the network "
            "stops, so do writes, and the other side decides what a sync is",
            move,
            kind=kind,
        )
    return ok(KIND, f"{folder} is on {kind}", kind=kind)


def mounted_kind(mounts: str, folder: Path) -> str:
    """The type of the file system of a real path: that of the longest mount point above it."""
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        words = before.split()
        if len(words) < 5 or not after:
            continue
        point = words[4].replace("\\040", " ")
        # Of two mounts on the same point the later one covers the other.
        if folder.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, after.split()[0]
    return kind


def space_finding(subject: Subject) -> Finding:
    """Measure the free space on the disk, and judge it."""
    try:
        room = os.statvfs(subject.folder)
    except OSError as error:
        return unknown(SPACE, f"The free space in {subject.folder} is unknown ({error.strerror})")
    return judge_space(subject, room.f_bavail * room.f_frsize)


def judge_space(subject: Subject, free_bytes: int) -> Finding:
    """Judge it: a rewrite writes all data again before it removes the old files."""
    needed = subject.rewrite_bytes
    facts = {"free_bytes": free_bytes, "rewrite_bytes": needed}
    said = f"{size(free_bytes)} are free in {subject.folder}"
    find = f"du -xh -d 2 {shlex.quote(str(subject.folder))} | sort -h | tail"
    if free_bytes < needed:
        return problem(
            SPACE,
            f"{said}, and a rewrite needs up to {size(needed)}: it will fail, the AOF will "
            "grow until the disk is full, and then writes are refused",
            find,
            **facts,
        )
    if free_bytes < max(2 * needed, LEAST_FREE_BYTES):
        told = f", and a rewrite takes up to {size(needed)} of them" if needed else ""
        return advice(SPACE, f"{said}{told}: make room before the disk is full", find, **facts)
    told = f", a rewrite needs up to {size(needed)}" if needed else ""
    return ok(SPACE, said + told, **facts)
