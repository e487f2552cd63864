"""All messages of one stream that this process holds, and how many more it can take.

    fetched --> waits --> runs --> settled, and the server has confirmed it --> let go
                 |         |
                 '---------+--> parked: failed, waits for its next attempt

A message counts until the server has confirmed its end, so that a second delivery is recognised.
Parked messages take no room from others, up to a limit.

The window grows while messages are handled quickly and shrinks while they are slow: a worker with
slow handlers must not hoard messages that another one could handle.  It is never smaller than twice
the number that can run at once, and otherwise not larger than ``prefetch``.
"""

from __future__ import annotations

from collections.abc import Iterable

from forebay_workers.message import Message
from forebay_workers.options import StreamOptions

#: A window holds about as many messages as this time can handle.
WINDOW_S = 0.2
#: Parked messages, as a multiple of ``prefetch``, that stop the reading of new ones.
MOST_PARKED = 10
#: The assumed size of a message before the first one.
FIRST_GUESS_BYTES = 1024


class Held:
    """The messages of one stream in this process."""

    def __init__(self, options: StreamOptions, least: int) -> None:
        """``least``: the smallest size of the window."""
        self._options = options
        self._prefetch, self._prefetch_bytes = options.prefetch, options.prefetch_bytes
        self._least = least
        self.window = self._least
        self.messages: dict[bytes, Message] = {}
        self.bytes = 0
        self.parked = 0
        self._mean_bytes = float(FIRST_GUESS_BYTES)
        self._settled = 0
        self._since_s = 0.0

    def share(self, parts: int) -> None:
        """Let the parts of a stream share its prefetch."""
        self._prefetch = max(1, self._options.prefetch // parts)
        self._prefetch_bytes = max(1, self._options.prefetch_bytes // parts)

    def add(self, fetched: list[Message]) -> list[Message]:
        """Take messages; return those that were not here before."""
        held = self.messages
        new = []
        for message in fetched:
            known = held.setdefault(message.key, message)
            if known is message:
                new.append(message)
            else:
                known.leased_s = message.leased_s
        if new:
            came = sum([message.size for message in new])
            self.bytes += came
            self._mean_bytes += (came / len(new) - self._mean_bytes) / 4
        return new

    def let_go(self, messages: Iterable[Message]) -> None:
        """Forget messages that are settled, or that another worker owns."""
        held = self.messages
        gone = [message for message in messages if held.pop(message.key, None) is not None]
        self.bytes -= sum([message.size for message in gone])
        self._settled += len(gone)

    def room(self) -> int:
        """How many more may be fetched; 0 until a good part of the window is free."""
        free = self.window - (len(self.messages) - self.parked)
        by_size = int((self._prefetch_bytes - self.bytes) / self._mean_bytes)
        if self.parked >= MOST_PARKED * self._prefetch or by_size < 1:
            # A message larger than the budget is still read, alone.
            return 0 if self.messages else 1
        return min(free, by_size) if 2 * free >= self.window else 0

    def room_bytes(self) -> int:
        """How many bytes more may be fetched."""
        return max(1, self._prefetch_bytes - self.bytes)

    def adapt(self, now_s: float) -> None:
        """Fit the window to the speed of settling since the last call."""
        elapsed_s = now_s - self._since_s
        if elapsed_s < WINDOW_S / 10:
            return
        wanted = int(self._settled / elapsed_s * WINDOW_S)
        self._settled, self._since_s = 0, now_s
        grown = min(max(wanted, self.window // 2), 2 * self.window)
        self.window = max(self._least, min(grown, self._prefetch))
