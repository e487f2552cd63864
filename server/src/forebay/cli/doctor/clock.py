"""The clock: its source, whether it steps, whether a service keeps it right.

IDs of entries are times of the wall clock, and expiry is measured with it.  A clock that steps
back makes the server repeat the last millisecond; after a failover to a machine whose clock is
behind, the time in new IDs does not advance until the clock has caught up.
"""

from __future__ import annotations

import ctypes
import time

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.tree import Tree
from forebay.cli.words import span

SOURCE, STEPS, SYNCED = "clock source", "clock", "time sync"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0"
#: Each reading of one of these asks the hardware.
SLOW_SOURCES = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit", "xen")
#: A service that corrects a clock gently changes it by at most half a millisecond per second.
STEP_S = 0.05

#: Longer than a struct timex on any machine; zeros only query.
_TIMEX_BYTES = 512
_NOT_SYNCED = 5


def source_finding(tree: Tree) -> Finding:
    """Judge whether reading the time is cheap."""
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
    """How far the wall clock is ahead of the one that never steps: constant, except for steps."""
    return time.clock_gettime(time.CLOCK_REALTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


def step_finding(step_s: float, watched_s: float) -> Finding:
    """Whether the wall clock stepped against the other one while it was watched."""
    facts = {"step_ms": round(step_s * 1000, 3), "watched_s": round(watched_s, 3)}
    if abs(step_s) < STEP_S:
        return ok(STEPS, f"The wall clock made no step in {span(watched_s)}", **facts)
    way = "forward" if step_s > 0 else "back"
    return problem(
        STEPS,
        f"The wall clock stepped {way} by {span(abs(step_s))} while it was watched: IDs and expiry "
        "follow it, so let one service correct it gently",
        "timedatectl status",
        **facts,
    )


def kernel_clock_state() -> int:
    """The answer of adjtimex: 0 to 4 if a service keeps the clock right, 5 if none does, -1 if
    it cannot be called."""
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
            "No service keeps the clock right: after a failover to another machine, the time in "
            "IDs may stop or jump",
            "sudo timedatectl set-ntp true",
            synced=False,
        )
    return ok(SYNCED, "The clock is kept right (NTP)", synced=True)
