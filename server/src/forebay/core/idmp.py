"""The idempotency map of a stream: which message of which producer became which entry.

A producer that does not know whether its XADD arrived sends it again, with the
same producer ID and the same idempotent ID; the map returns the entry of the
first attempt.

    producers   b"orders-1" -> { iid -> (ms, seq), ... oldest first }
                b"orders-2" -> { ... }

Rules
  1. The iids of a producer are in order of arrival; the oldest is removed first
     when there are more than the stream's maximum.
  2. A producer without iids is not kept.
  3. A lookup never looks at the clock: only expire(), which the periodic job
     calls, forgets old messages.  The age of a message is that of its stream
     entry.
  4. Deleting or trimming that entry does not forget the message.
  5. IDMP and IDMPAUTO share the map: an automatic iid is just sixteen bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import xxhash

from forebay import mem

#: The limits of XCFGSET: seconds, and number of messages.
DURATION_MAX_S = 86400
MAXSIZE_MAX = 10000

#: 128-bit hash of some bytes, as one number (XXH3).
Hash128 = Callable[[bytes], int]


class Idmp:
    """The idempotency map of one stream."""

    __slots__ = ("producers",)

    def __init__(self) -> None:
        self.producers: dict[bytes, dict[bytes, tuple[int, int]]] = {}

    @property
    def pids(self) -> int:
        """The number of known producers."""
        return len(self.producers)

    @property
    def iids(self) -> int:
        """The number of known messages of all producers."""
        return sum(map(len, self.producers.values()))

    def lookup(self, pid: bytes, iid: bytes) -> tuple[bool, int, int]:
        """Whether this message was added before, and its entry."""
        iids = self.producers.get(pid)
        entry = iids.get(iid) if iids is not None else None
        return (False, 0, 0) if entry is None else (True, *entry)

    def record(self, pid: bytes, iid: bytes, ms: int, seq: int, maxsize: int) -> None:
        """Remember a new message; the oldest ones of this producer make room for it."""
        iids = self.producers.setdefault(pid, {})
        iids.pop(iid, None)
        iids[iid] = (ms, seq)
        while len(iids) > maxsize:
            del iids[next(iter(iids))]

    def expire(self, now_ms: int, duration_s: int) -> int:
        """Forget the messages whose entries are older than ``duration_s``; how many.

        Each producer's oldest messages are first, so the search ends at the first young
        one.  (XIDMPRECORD may record an older entry later; it is then forgotten after those
        before it.)
        """
        newest_expired_ms = now_ms - duration_s * 1000
        expired = 0
        for pid in list(self.producers):
            iids = self.producers[pid]
            old = 0
            for ms, _ in iids.values():
                if ms > newest_expired_ms:
                    break
                old += 1
            expired += old
            if old == len(iids):
                del self.producers[pid]
            else:
                for iid in list(iids)[:old] if old else ():
                    del iids[iid]
        return expired

    def clear(self) -> None:
        """Forget everything."""
        self.producers.clear()

    def copy(self) -> Idmp:
        """An independent map with the same content, in the same order."""
        twin = Idmp()
        twin.producers = {pid: dict(iids) for pid, iids in self.producers.items()}
        return twin


def auto_iid(pairs: Sequence[bytes], hash128: Hash128 = xxhash.xxh3_128_intdigest) -> bytes:
    """The idempotent ID of a message's content: field, value, field, value ...

    The same pairs in another order give the same ID: hashes of pairs are only
    added and xored.  The length of the field is hashed between field and value,
    so that ("ab", "c") and ("a", "bc") differ.
    """
    low_sum = high_sum = low_xor = high_xor = 0
    for i in range(0, len(pairs), 2):
        name, value = pairs[i], pairs[i + 1]
        digest = hash128(name + len(name).to_bytes(8, "little") + value)
        low, high = digest & mem.U64_MAX, digest >> 64
        low_sum += low
        high_sum += high
        low_xor ^= low
        high_xor ^= high
    low = low_sum & mem.U64_MAX ^ _rotated(high_xor)
    high = high_sum & mem.U64_MAX ^ _rotated(low_xor)
    return low.to_bytes(8, "little") + high.to_bytes(8, "little")


def _rotated(word: int) -> int:
    """A 64-bit word rotated left by one."""
    return (word << 1 | word >> 63) & mem.U64_MAX
