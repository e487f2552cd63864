"""``forebay doctor``: examine the machine and the server, say what is wrong and what to do.

    connect          ->  first look  ->  syncs of the disk are timed, the clock is watched
                     ->  last look   ->  everything is judged, reported, and counted

A missing server is one finding like others: the machine can be judged without it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from forebay.cli.data_path import path_of
from forebay.cli.doctor import (
    clock,
    disk,
    doors,
    kernel,
    links,
    load,
    memory,
    replicas,
    report,
    saving,
)
from forebay.cli.doctor.finding import Finding, Level, problem, unknown
from forebay.cli.doctor.patient import Look, Patient, look, settings_of, slow_log
from forebay.cli.doctor.report import Section
from forebay.cli.doctor.subject import Subject, pid_here, subject_of
from forebay.cli.doctor.tree import Tree
from forebay.cli.moments import seconds_up_to
from forebay.cli.output import write_json
from forebay.cli.remote.address import DEFAULT_URL, Address, parse_url
from forebay.cli.remote.link import Link, LinkError
from forebay.cli.remote.option import url_parameter

HELP = """\
Examine this machine and a running server: Forebay, Redis or Valkey.

It says in plain words what is fine, what could be better, what is wrong, and which command
helps.

The machine: how fast its disk syncs, clock, limits, huge pages, memory for a fork, room
on the disk.  The server: role, how far replicas are behind, backlog against the rate of
writes, what is on disk, memory, clients, slow commands.  Nothing is changed: doctor sends
INFO, CONFIG GET and SLOWLOG GET, and writes a file without a name in its directory.

The machine is looked at if the server runs on it, if no server is there, or with --dir.
"""

EPILOG = """\
exit code: 0 all is well, or there is only advice; 1 at least one problem; 2 wrong usage

examples:
  forebay doctor                                     this machine, and a server at 6379
  forebay doctor --url redis://:secret@db:6379       a password is better in FOREBAY_URL
  forebay doctor --dir /var/lib/forebay              a disk, before a server is there
  forebay doctor --seconds 60                        in a busy minute: backlog, replicas
  forebay doctor --json | jq '.findings[] | select(.level == "problem")'
"""

app = App(name="doctor", help=HELP, help_epilogue=EPILOG)

USUAL_S = 5.0
LONGEST_S = 86_400.0


Url = Annotated[Address | None, url_parameter(f"{DEFAULT_URL} if one answers there")]
Dir = Annotated[
    Path | None,
    Parameter(
        name="--dir",
        metavar="PATH",
        converter=path_of,
        help="the directory whose disk is tested (that of the server, or else this one)",
    ),
]
Seconds = Annotated[
    float,
    Parameter(
        metavar="N",
        converter=seconds_up_to(LONGEST_S),
        help=f"how long to watch the writes and the clock ({USUAL_S:g})",
    ),
]
Json = Annotated[bool, Parameter(help="the same as one line of JSON")]


@app.default
def doctor(
    *, url: Url = None, folder: Dir = None, seconds: Seconds = USUAL_S, json: Json = False
) -> int:
    """Examine, report, and count problems."""
    sections = examine(Tree(), url, folder, seconds)
    if json:
        write_json(report.facts(sections))
    else:
        report.show(sections)
    return 1 if report.verdict(sections) is Level.PROBLEM else 0


@dataclass(frozen=True, slots=True)
class Met:
    """A server at the first look; ``pid`` if it runs on this machine."""

    link: Link
    look: Look
    settings: Mapping[str, str]
    pid: int | None


def examine(tree: Tree, url: Address | None, folder: Path | None, seconds: float) -> list[Section]:
    """Examine everything, in the order of the report."""
    address = url or parse_url(DEFAULT_URL)
    with meeting(tree, address) as met:
        if isinstance(met, LinkError):
            about_server = [absent_finding(met, is_asked_for=url is not None)]
            return [
                machine_section(tree, None, folder, seconds),
                server_section(address, about_server),
            ]
        return examine_both(tree, met, folder, seconds)


def examine_both(tree: Tree, met: Met, folder: Path | None, seconds: float) -> list[Section]:
    """Examine the machine and the server during the same seconds."""
    address = met.link.address
    if met.pid is None and folder is None:
        machine = elsewhere_section(address)
        with patience(seconds):
            wait_until(met.look.monotonic_s + seconds)
    else:
        machine = machine_section(tree, met, folder, seconds)
    try:
        seen, slow = look(met.link), slow_log(met.link)
        is_open = doors.opens_without_password(address)
        patient = Patient(address, met.look, seen, met.settings, slow, is_open)
        about_server = server_findings(patient)
    except LinkError as error:
        about_server = [absent_finding(error, is_asked_for=True)]
    return [machine, server_section(address, about_server)]


@contextmanager
def meeting(tree: Tree, address: Address) -> Iterator[Met | LinkError]:
    """A connection to a server; the error if there is none."""
    try:
        link = Link(address, is_text=True)
    except LinkError as error:
        yield error
        return
    with link:
        yield first_look(tree, link)


def first_look(tree: Tree, link: Link) -> Met | LinkError:
    """Log in and ask for everything that does not change while the server is watched."""
    try:
        link.log_in()
        seen = look(link)
        settings = settings_of(link)
    except LinkError as error:
        return error
    return Met(link, seen, settings, pid_here(tree, seen) if link.is_to_this_machine() else None)


def absent_finding(error: LinkError, *, is_asked_for: bool) -> Finding:
    """No server to examine: a problem only if the user named one, or a server refuses."""
    if is_asked_for or not error.is_nobody:
        return problem("server", str(error), error.do)
    return unknown("server", f"{error}, so only the machine was examined", error.do)


def machine_section(tree: Tree, met: Met | None, folder: Path | None, seconds: float) -> Section:
    """Measure and judge this machine, for a server that runs here or one that would."""
    subject = Subject(folder=Path())
    if met is not None and met.pid is not None:
        subject = subject_of(met.pid, met.look, met.settings, met.link.address)
    subject = replace(subject, folder=(folder or subject.folder).resolve())
    begun_s, ahead_s = time.monotonic(), clock.ahead_s()
    with patience(seconds):
        synced = disk.sync_finding(subject, seconds, is_asked_for=folder is not None)
        wait_until(begun_s + seconds)
    step_s, watched_s = clock.ahead_s() - ahead_s, time.monotonic() - begun_s
    findings = [
        synced,
        disk.kind_finding(tree, subject.folder),
        disk.space_finding(subject),
        clock.source_finding(tree),
        clock.step_finding(step_s, watched_s),
        clock.sync_finding(clock.kernel_clock_state()),
        *kernel_findings(tree, subject),
    ]
    if met is not None and met.pid is not None:
        findings.append(doors.secrets_finding(tree, met.look.info, met.settings))
    return Section("machine", f"this machine, {subject.folder}", findings)


def kernel_findings(tree: Tree, subject: Subject) -> list[Finding]:
    """Findings from files of the kernel."""
    return [
        kernel.files_finding(tree, subject),
        kernel.queue_finding(tree, subject),
        kernel.huge_finding(tree, subject),
        kernel.overcommit_finding(tree, subject),
        memory.fork_finding(tree, subject),
        memory.swap_finding(tree, subject),
        memory.group_finding(tree, subject),
    ]


def elsewhere_section(address: Address) -> Section:
    """The machine of a server that runs on another one."""
    finding = unknown(
        "machine",
        f"{address} runs on another machine or in a container: run doctor there to look at its "
        "disk, clock and limits",
        "ssh HOST forebay doctor",
    )
    return Section("machine", "the machine of the server", [finding])


def server_section(address: Address, findings: list[Finding]) -> Section:
    """The section about a server."""
    return Section("server", f"the server at {address}", findings)


def server_findings(patient: Patient) -> list[Finding]:
    """Judge a server."""
    as_replica = [links.link_finding(patient), links.read_only_finding(patient)]
    return [
        links.server_finding(patient),
        links.clock_finding(patient),
        doors.password_finding(patient),
        doors.tls_finding(patient),
        *(as_replica if patient.is_replica else [replicas.safety_finding(patient)]),
        *replicas.replica_findings(patient),
        replicas.backlog_finding(patient),
        replicas.timeout_finding(patient),
        replicas.buffers_finding(patient),
        saving.kept_finding(patient),
        *saving.aof_findings(patient),
        *saving.snapshot_findings(patient),
        load.fork_finding(patient),
        load.memory_finding(patient),
        load.held_finding(patient),
        load.evicted_finding(patient),
        load.clients_finding(patient),
        load.blocked_finding(patient),
        load.slow_finding(patient),
    ]


def patience(seconds: float) -> AbstractContextManager[Any]:
    """A moving sign on a terminal while doctor waits."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(f"watching for {seconds:g} s")


def wait_until(end_s: float) -> None:
    """Sleep until a moment of the monotonic clock."""
    time.sleep(max(0.0, end_s - time.monotonic()))
