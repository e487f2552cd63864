"""The clock: where it comes from, whether it steps, whether somebody keeps it right.

IDs of entries are times of the wall clock, and expiry is measured with it.  A clock that steps
back makes the server repeat the last millisecond; after a failover to a machine whose clock is
behind, IDs stand still until it has caught up.
"""

from __future__ import annotations

import ctypes
import time

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.tree import Tree
from forebay.cli.words import span

SOURCE, STEPS, SYNCED = "clock source", "clock", "time sync"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0"
#: Reading one of these asks the hardware, each time.
SLOW_SOURCES = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "xen")
#: Whoever corrects a clock gently changes it by half a millisecond in a second at most.
STEP_S = 0.05

#: Longer than a struct timex is on any machine; zeros only ask.
_TIMEX_BYTES = 512
_NOT_SYNCED = 5


def source_finding(tree: Tree) -> Finding:
    """Whether reading the time is cheap."""
    source = tree.text(f"{_CLOCKS}/current_clocksource")
    if not source:
        return unknown(SOURCE, f"{_CLOCKS}/current_clocksource cannot be read")
    others = (tree.text(f"{_CLOCKS}/available_clocksource") or "").split()
    if source not in SLOW_SOURCES:
        return ok(SOURCE, f"The time comes from {source}, which is quick to read", source=source)
    better = next((name for name in others if name not in SLOW_SOURCES), "tsc")
    return advice(
        SOURCE,
        f"The time comes from {source}, which is slow to read, and a server reads it all the time",
        f"echo {better} | sudo tee {_CLOCKS}/current_clocksource",
        source=source,
    )


def ahead_s() -> float:
    """How far the wall clock is ahead of the one that never steps: constant, but for steps."""
    return time.clock_gettime(time.CLOCK_REALTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def step_finding(step_s: float, watched_s: float) -> Finding:
    """Whether the wall clock moved against the other one while somebody watched."""
    facts = {"step_ms": round(step_s * 1000, 3), "watched_s": round(watched_s, 3)}
    if abs(step_s) < STEP_S:
        return ok(STEPS, f"The wall clock made no step in {span(watched_s)}", **facts)
    way = "forward" if step_s > 0 else "back"
    return problem(
        STEPS,
        f"The wall clock stepped {way} by {span(abs(step_s))} while it was watched: IDs and expiry "
        "follow it, so correct it gently, and have one service do it",
        "timedatectl status",
        **facts,
    )


def kernel_clock_state() -> int:
    """What adjtimex answers: 0 to 4 if somebody keeps the clock right, 5 if nobody does, -1 if
    it cannot be asked."""
    try:
        return int(ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(_TIMEX_BYTES)))
    except (OSError, AttributeError):
        return -1


def sync_finding(state: int) -> Finding:
    """Whether the kernel's clock is kept right by NTP or the like."""
    if state < 0:
        return unknown(SYNCED, "The kernel does not tell whether its clock is kept right")
    if state == _NOT_SYNCED:
        return advice(
            SYNCED,
            "No service keeps the clock right: after a failover to another machine, IDs may "
            "stand still or leap",
            "sudo timedatectl set-ntp true",
            synced=False,
        )
    return ok(SYNCED, "The clock is kept right (NTP)", synced=True)
