"""Running times in buckets: cheap to count, good enough for a percentile.

    microseconds   0 1 2 3 | 4 5 6 7 | 8-9 10-11 12-13 14-15 | 16-19 20-23 ...
    bucket         0 1 2 3 | 4 5 6 7 |  8    9     10    11  |  12    13   ...

Every power of two is divided into four buckets, so a time is known to within a quarter
of its size.  Counting is one shift loop and one increment (engine/call_counts.py).
This module only reads the buckets, on request.
"""

from __future__ import annotations

from collections.abc import Sequence


def upper_bound(bucket: int) -> int:
    """The longest time, in microseconds, that falls into the bucket."""
    if bucket < 4:
        return bucket
    shift = bucket // 4 - 1
    return ((bucket % 4 + 5) << shift) - 1


def percentile(buckets: Sequence[int], percent: float) -> int:
    """The time that this percentage of the calls did not exceed."""
    total = sum(buckets)
    wanted = total * percent / 100.0
    seen = 0
    for bucket, count in enumerate(buckets):
        seen += count
        if count and seen >= wanted:
            return upper_bound(bucket)
    return 0


def by_powers_of_two(buckets: Sequence[int]) -> list[tuple[int, int]]:
    """(time, calls that took no longer) for each power of two that occurred."""
    found: list[tuple[int, int]] = []
    seen = 0
    for bucket, count in enumerate(buckets):
        if not count:
            continue
        seen += count
        limit = 1
        while limit < upper_bound(bucket):
            limit *= 2
        if found and found[-1][0] == limit:
            found[-1] = (limit, seen)
        else:
            found.append((limit, seen))
    return found
