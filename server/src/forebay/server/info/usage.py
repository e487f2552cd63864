"""The use of memory and processor time, and how fast counters grow.

Two numbers for memory, as in Redis:
    used       the memory of live objects: the C allocator's count of bytes in use, and
               the interpreter's count of small blocks times their usual size.
               It falls when keys are deleted, so ``maxmemory`` is compared with it.
    resident   the memory that the kernel has given to the process.  It rarely falls:
               freed memory is kept for the next objects.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forebay.server.net.timers import Clock

#: Small objects of the interpreter, which has no count of their bytes: by far the most are
#: between 32 and 112 bytes.
SMALL_BLOCK_BYTES = 64
#: Memory is measured again after this long, or later if measuring takes long (the C
#: allocator walks its free chunks): it takes at most one part in COST_SHARE of the time.
MEASURE_AGAIN_US = 10_000
COST_SHARE = 50
#: After this many bytes from clients it is measured sooner: they may be kept.
SOON_BYTES = 1 << 20
SOON_COST_SHARE = 5
#: Rates are averaged over this many samples, which the server takes ten times a second.
RATE_SAMPLES = 16

_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    """Resident memory now."""
    return int(_STATM.read_bytes().split()[1]) * _PAGE


def system_bytes() -> int:
    """The memory of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


def cpu_seconds() -> list[tuple[str, float]]:
    """Processor time of this process and its children, under the names of INFO."""
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


class _MallocInfo(ctypes.Structure):
    """The struct of mallinfo2(3)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def _find_mallinfo() -> Callable[[], Any] | None:
    """The C library's own count; None where it has none (glibc has it since 2.33)."""
    found = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if found is not None:
        found.restype = _MallocInfo
    return found


_mallinfo = _find_mallinfo()


def allocated_bytes() -> int:
    """The memory of live objects; resident memory where the C library does not count."""
    if _mallinfo is None:
        return resident_bytes()
    counted = _mallinfo()
    small = sys.getallocatedblocks() * SMALL_BLOCK_BYTES
    return int(counted.uordblks + counted.hblkhd + small)


class MemoryGauge:
    """Used memory, measured now and then because it is asked for before every write."""

    def __init__(self, clock: Clock, arrived: Callable[[], int] = lambda: 0) -> None:
        self._clock = clock
        #: How many bytes have arrived from clients so far.
        self._arrived = arrived
        self._bytes = 0
        self._due_us = 0
        #: When it may be measured again if SOON_BYTES have arrived.
        self._soon_us = 0
        self._soon_bytes = 0
        self.peak_bytes = 0
        #: When the peak was measured, in Unix seconds.
        self.peak_s = 0
        self.startup_bytes = self.used()

    def used(self) -> int:
        """Bytes in use, measured now or a moment ago."""
        now_us = self._clock.us()
        is_soon = now_us >= self._soon_us and self._arrived() >= self._soon_bytes
        if now_us >= self._due_us or is_soon:
            self._bytes = allocated_bytes()
            if self._bytes > self.peak_bytes:
                self.peak_bytes = self._bytes
                self.peak_s = self._clock.now_ms() // 1000
            cost_us = self._clock.us() - now_us
            self._due_us = now_us + max(MEASURE_AGAIN_US, COST_SHARE * cost_us)
            self._soon_us = now_us + SOON_COST_SHARE * cost_us
            self._soon_bytes = self._arrived() + SOON_BYTES
        return self._bytes

    def peak(self) -> int:
        """The highest value measured so far."""
        return max(self.peak_bytes, self.used())


class Rate:
    """How fast a counter grows, over the last few samples."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, int]] = deque(maxlen=RATE_SAMPLES)

    def sample(self, now_ms: int, total: int) -> None:
        """Note the counter; if it went back it was reset, and counting starts again."""
        if self._samples and total < self._samples[-1][1]:
            self._samples.clear()
        self._samples.append((now_ms, total))

    def growth(self) -> int:
        """How much the counter grew over the samples."""
        return self._samples[-1][1] - self._samples[0][1] if self._samples else 0

    def per_second(self) -> float:
        """Growth per second; 0 until there are two samples."""
        if len(self._samples) < 2:
            return 0.0
        took_ms = self._samples[-1][0] - self._samples[0][0]
        return self.growth() * 1000 / took_ms if took_ms > 0 else 0.0
