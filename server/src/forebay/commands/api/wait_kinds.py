"""What a blocked client waits for; a key wakes only clients of the kind of its value."""

from __future__ import annotations

BLOCK_LIST = 1
BLOCK_STREAM = 2
BLOCK_TIME = 3  # nothing but its deadline (WAIT)
BLOCK_PAUSE = 4  # the end of CLIENT PAUSE; then the command runs for the first time
