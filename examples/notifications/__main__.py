"""Notifications: a capped stream for each user, with a count of unread entries.

    notify   XADD example:inbox:ann MAXLEN 5 * text ...      the oldest entry is dropped
    unread   XRANGE example:inbox:ann (seen +                all after the last one she has seen
    see      SET example:seen:ann <ID>                       on one device; valid for all of them
    wait     XREAD BLOCK ... STREAMS example:inbox:ann <ID>  an open device gets it at once

The cap limits the cost of an inbox.  A device that was away asks with the last ID that it has: it
misses nothing in between, except entries that the cap has dropped.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from examples.server import connect

MOST = 5
USERS = ("ann", "bob")
START = "0-0"


def inbox(user: str) -> str:
    """The stream of a user."""
    return f"example:inbox:{user}"


def seen_key(user: str) -> str:
    """The key of the last ID that a user has seen."""
    return f"example:seen:{user}"


def notify(client: Any, user: str, text: str) -> str:
    """Put a notification into an inbox; returns its ID."""
    entry_id: str = client.xadd(inbox(user), {"text": text}, maxlen=MOST, approximate=False)
    return entry_id


def unread(client: Any, user: str) -> list[tuple[str, dict[str, str]]]:
    """The notifications that a user has not seen, oldest first; never more than the cap."""
    seen = client.get(seen_key(user)) or START
    found: list[tuple[str, dict[str, str]]] = client.xrange(inbox(user), f"({seen}", "+")
    return found


def see(client: Any, user: str, entry_id: str) -> None:
    """Mark all up to this one as seen; a device that is behind cannot undo that."""

    def forward(pipe: Any) -> None:
        seen = pipe.get(seen_key(user)) or START
        pipe.multi()
        pipe.set(seen_key(user), max(seen, entry_id, key=parts))

    client.transaction(forward, seen_key(user))


def parts(entry_id: str) -> tuple[int, int]:
    """An ID as numbers, which compare as the server does."""
    ms, _, seq = entry_id.partition("-")
    return int(ms), int(seq)


def wait_for_next(client: Any, user: str, last_id: str) -> str:
    """An open device: wait until there is a notification after its last one."""
    ((_, entries),) = client.xread({inbox(user): last_id}, count=1, block=10_000)
    return str(entries[0][1]["text"])


def show(client: Any) -> None:
    """Show the number of unread notifications of each user."""
    for user in USERS:
        texts = [fields["text"] for _, fields in unread(client, user)]
        print(f"  {user}: {len(texts)} unread  {', '.join(texts)}")


def main() -> None:
    """Some notifications, two devices, then more notifications than the cap."""
    keys = [key for user in USERS for key in (inbox(user), seen_key(user))]
    with connect(*keys) as client, ThreadPoolExecutor(1) as phone:
        print("three notifications:")
        first = notify(client, "ann", "bob follows you")
        last = notify(client, "ann", "your parcel is here")
        notify(client, "bob", "ann follows you")
        show(client)

        see(client, "ann", last)
        see(client, "ann", first)
        print("ann has seen all on her laptop; her phone is late and says less:")
        show(client)

        ringing = phone.submit(wait_for_next, client, "ann", last)
        notify(client, "ann", "a new song")
        print(f"her phone hears at once: {ringing.result()}")

        for number in range(1, 9):
            notify(client, "bob", f"sale {number}")
        print(f"bob gets eight more, and his inbox keeps {client.xlen(inbox('bob'))}:")
        show(client)


if __name__ == "__main__":
    main()
