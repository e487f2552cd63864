"""The state of a test as text: for ``print(t)`` and for failed assertions."""

from __future__ import annotations

from collections.abc import Sequence

from forebay_workers.settle.letters import Letter
from forebay_workers.testing.process import Process
from forebay_workers.testing.records import Call, Pending

#: Longer lists are cut: a report must fit on a screen.
MOST_LINES = 8


def listed(title: str, things: Sequence[object]) -> list[str]:
    """A title and a line for each thing, or nothing."""
    if not things:
        return []
    lines = [f"  {title}:", *(f"    {thing}" for thing in things[:MOST_LINES])]
    if len(things) > MOST_LINES:
        lines.append(f"    ... and {len(things) - MOST_LINES} more")
    return lines


def letter_line(letter: Letter) -> str:
    """A dead letter in one line."""
    names = [part.decode("utf-8", "replace") for part in letter.fields]
    fields = dict(zip(names[::2], names[1::2], strict=True))
    return f"{letter.origin_id} {fields} after {letter.deliveries} attempts: {letter.error}"


def stream_lines(
    stream: str,
    unread: int,
    pending: Sequence[Pending],
    later: int,
    dead: Sequence[Letter],
    calls: Sequence[Call],
) -> list[str]:
    """The lines about a stream."""
    done = sum(call.outcome == "done" for call in calls)
    head = (
        f"{stream}: {done} of {len(calls)} calls done, {unread} unread, {len(pending)} pending, "
        f"{later} for later, {len(dead)} dead"
    )
    failed = [call for call in calls if call.outcome != "done"]
    return [
        head,
        *listed("pending", pending),
        *listed("dead", [letter_line(letter) for letter in dead]),
        *listed("calls that did not succeed", failed),
    ]


def worker_lines(processes: Sequence[Process]) -> list[str]:
    """All workers."""
    return [repr(process).strip("<>") for process in processes]
