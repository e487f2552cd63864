"""Notifications: a stream for each user, capped, with a count of what is unread.

    notify   XADD example:inbox:ann MAXLEN 5 * text ...      the oldest makes room
    unread   XRANGE example:inbox:ann (seen +                all after the last one she has seen
    see      SET example:seen:ann <ID>                       on one device; it holds for all of them
    wait     XREAD BLOCK ... STREAMS example:inbox:ann <ID>  a device that is open hears at once

An inbox costs what its cap allows, whatever happens.  A device that was away asks with the last ID
that it has: nothing in between is missed, unless the cap has pushed it out.
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
    """Where the last ID is that a user has seen."""
    return f"example:seen:{user}"


def notify(client: Any, user: str, text: str) -> str:
    """Put a notification into an inbox; its ID."""
    entry_id: str = client.xadd(inbox(user), {"text": text}, maxlen=MOST, approximate=False)
    return entry_id


def unread(client: Any, user: str) -> list[tuple[str, dict[str, str]]]:
    """What a user has not seen, oldest first; at most what the cap allows."""
    seen = client.get(seen_key(user)) or START
    found: list[tuple[str, dict[str, str]]] = client.xrange(inbox(user), f"({seen}", "+")
    return found


def see(client: Any, user: str, entry_id: str) -> None:
    """All up to this one are seen; an older device cannot take that back."""

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
    """What an open device does: wait until there is something after the last one it has."""
    ((_, entries),) = client.xread({inbox(user): last_id}, count=1, block=10_000)
    return str(entries[0][1]["text"])


def show(client: Any) -> None:
    """The bell of each user, with its number."""
    for user in USERS:
        texts = [fields["text"] for _, fields in unread(client, user)]
        print(f"  {user}: {len(texts)} unread  {', '.join(texts)}")


def main() -> None:
    """Some notifications, two devices, too many of them."""
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
