"""Settings of the kernel that a server depends on: limits, huge pages, overcommit, queues."""

from __future__ import annotations

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.subject import Subject
from forebay.cli.doctor.tree import Tree
from forebay.cli.words import size, sysctl, whole
from forebay.server.process import OWN_DESCRIPTORS

FILES, HUGE, OVERCOMMIT, QUEUE = "open files", "huge pages", "overcommit", "accept queue"
NO_LIMIT = 1 << 30  # more descriptors than any kernel gives
_HUGE = "/sys/kernel/mm/transparent_hugepage/enabled"
_OVERCOMMIT = "/proc/sys/vm/overcommit_memory"
_SOMAXCONN = "/proc/sys/net/core/somaxconn"


def files_finding(tree: Tree, subject: Subject) -> Finding:
    """Whether there are descriptors for all clients.

    A server raises its soft limit as it needs, so before a start the hard limit counts.
    """
    limit = open_files(tree, subject)
    if limit is None:
        return unknown(FILES, f"{subject.process}/limits does not tell the limit of open files")
    facts = {"limit": limit, "maxclients": subject.maxclients}
    needed = subject.maxclients + OWN_DESCRIPTORS
    if limit < needed:
        return advice(
            FILES,
            f"{limit:,} files may be open, which is not enough for maxclients "
            f"{subject.maxclients:,}: further clients are turned away",
            f"ulimit -n {needed}    # for a service of systemd: LimitNOFILE={needed}",
            **facts,
        )
    return ok(
        FILES, f"{limit:,} files may be open, enough for maxclients {subject.maxclients:,}", **facts
    )


def open_files(tree: Tree, subject: Subject) -> int | None:
    """The limit that counts; a very large number if there is none."""
    head = "Max open files"
    for line in (tree.text(f"{subject.process}/limits") or "").splitlines():
        soft_and_hard = line.removeprefix(head).split()
        if line.startswith(head) and len(soft_and_hard) > 1:
            limit = soft_and_hard[0 if subject.pid else 1]
            return NO_LIMIT if limit == "unlimited" else whole(limit)
    return None


def huge_finding(tree: Tree, subject: Subject) -> Finding:
    """Whether a page that is copied after a fork is 4 KB or 2 MB."""
    text = tree.text(_HUGE)
    if text is None or "[" not in text:
        return unknown(HUGE, f"{_HUGE} cannot be read")
    mode = text.partition("[")[2].partition("]")[0]
    is_off_there = tree.fields(f"{subject.process}/status").get("THP_enabled") == "0"
    if mode != "always":
        return ok(HUGE, f"Transparent huge pages are set to {mode}", mode=mode)
    if subject.pid and is_off_there:
        return ok(HUGE, "The server has turned transparent huge pages off for itself", mode=mode)
    return advice(
        HUGE,
        "Transparent huge pages are on for all processes: while a snapshot or a rewrite is "
        "written, each change copies 2 MB instead of 4 KB, which takes time and memory",
        f"echo madvise | sudo tee {_HUGE}",
        mode=mode,
    )


def overcommit_finding(tree: Tree, subject: Subject) -> Finding:
    """Whether a fork may be refused although there is memory."""
    mode = tree.number(_OVERCOMMIT)
    if mode is None:
        return unknown(OVERCOMMIT, f"{_OVERCOMMIT} cannot be read")
    do = sysctl("vm.overcommit_memory", 1)
    left = commit_left(tree)
    if mode == 2 and left is not None and left < subject.held_bytes:
        return problem(
            OVERCOMMIT,
            f"vm.overcommit_memory is 2 and only {size(left)} may still be promised: a fork for a "
            "snapshot, a rewrite or a full sync will be refused",
            do,
            mode=mode,
        )
    if mode != 1:
        return advice(
            OVERCOMMIT,
            f"vm.overcommit_memory is {mode}: a fork for a snapshot, a rewrite or a full sync may "
            "be refused when the data takes half of the memory",
            do,
            mode=mode,
        )
    return ok(OVERCOMMIT, "vm.overcommit_memory is 1: a fork is not refused", mode=mode)


def commit_left(tree: Tree) -> int | None:
    """Memory that the kernel may still promise, if it counts."""
    limit = tree.size("/proc/meminfo", "CommitLimit")
    promised = tree.size("/proc/meminfo", "Committed_AS")
    return None if limit is None or promised is None else max(0, limit - promised)


def queue_finding(tree: Tree, subject: Subject) -> Finding:
    """Whether the kernel's accept queue is as long as the server asks for."""
    most = tree.number(_SOMAXCONN)
    if most is None:
        return unknown(QUEUE, f"{_SOMAXCONN} cannot be read")
    facts = {"somaxconn": most, "tcp_backlog": subject.tcp_backlog}
    if most < subject.tcp_backlog:
        return advice(
            QUEUE,
            f"net.core.somaxconn is {most}, less than tcp-backlog {subject.tcp_backlog}: when many "
            "clients connect at once, some are turned away",
            sysctl("net.core.somaxconn", subject.tcp_backlog),
            **facts,
        )
    return ok(QUEUE, f"net.core.somaxconn {most} holds tcp-backlog {subject.tcp_backlog}", **facts)
