"""What the process uses, asked of the operating system.

``used_memory`` is resident memory: what the kernel has given to this process.
It holds the interpreter and its free room too, so it is the honest answer to
"does it fit", not a sum over keys (MEMORY USAGE is that).
"""

from __future__ import annotations

import os
import resource
import threading
from collections import deque

#: Rates are averaged over this many samples, which the server takes ten times a second.
RATE_SAMPLES = 16

_PAGE = os.sysconf("SC_PAGE_SIZE")
_KIB = 1024


def resident_bytes() -> int:
    """Resident memory now."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE


def peak_bytes() -> int:
    """The most resident memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def system_bytes() -> int:
    """The memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


def cpu_seconds() -> list[tuple[str, float]]:
    """Processor time by whom and for what, under the names of INFO."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    main = own
    if threading.current_thread() is threading.main_thread():
        main = resource.getrusage(resource.RUSAGE_THREAD)
    return [
        ("used_cpu_sys", own.ru_stime),
        ("used_cpu_user", own.ru_utime),
        ("used_cpu_sys_children", children.ru_stime),
        ("used_cpu_user_children", children.ru_utime),
        ("used_cpu_sys_main_thread", main.ru_stime),
        ("used_cpu_user_main_thread", main.ru_utime),
    ]


class Rate:
    """How fast a counter grows, over the last few samples."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=RATE_SAMPLES)

    def sample(self, now_ms: int, total: int) -> None:
        """Note the counter; one that went back was reset, and counting starts again."""
        if self._samples and total < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((now_ms, total))

    def per_second(self) -> float:
        """Growth a second; 0 until there are two samples."""
        if len(self._samples) < 2:
            return 0.0
        (first_ms, first), (last_ms, last) = self._samples[0], self._samples[-1]
        return (last - first) * 1000 / (last_ms - first_ms) if last_ms > first_ms else 0.0
