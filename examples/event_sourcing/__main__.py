"""Event sourcing: an account is its stream, and its balance is computed from the stream.

    example:account   1-0 opened ann   2-0 paid-in 100   3-0 paid-out 30   4-0 ...
                      |<---------- snapshot: version 3, balance 70 ------->|<- replayed

- The ID of an event is its version: version 4 is written as ``XADD example:account 4-0``.
- Optimistic concurrency: a client that decided on version 3 may only write 4-0.  If another client
  was quicker, the server refuses the ID, because it is not greater than the last one.  Then the
  client decides again, on the current version.  No lock, no transaction.
- A snapshot is only a shortcut: without it the same account results.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import redis

from examples.server import connect

STREAM, SNAPSHOT = "example:account", "example:account:snapshot"
TAKEN = "equal or smaller than the target stream top item"


class ConflictError(Exception):
    """Another client has written this version."""


class RefusedError(Exception):
    """The account does not allow it."""


@dataclass(frozen=True)
class Account:
    """The state after the events up to a version."""

    version: int = 0
    owner: str = ""
    cents: int = 0

    def after(self, event: dict[str, str]) -> Account:
        """The same, one event later; this function never refuses: the event has happened."""
        match event["kind"]:
            case "opened":
                found = replace(self, owner=event["owner"])
            case "paid-in":
                found = replace(self, cents=self.cents + int(event["cents"]))
            case "paid-out":
                found = replace(self, cents=self.cents - int(event["cents"]))
            case kind:
                raise ValueError(f"unknown event {kind}")
        return replace(found, version=self.version + 1)


def load(client: Any, start: Account | None = None) -> Account:
    """Replay the events after ``start``, or all of them."""
    account = start or Account()
    for _, event in client.xrange(STREAM, f"({account.version}-0", "+"):
        account = account.after(event)
    return account


def snapshot(client: Any) -> Account:
    """The account as it was when the last snapshot was written."""
    text = client.get(SNAPSHOT)
    return Account(**json.loads(text)) if text else Account()


def append(client: Any, known: Account, event: dict[str, Any]) -> Account:
    """Write the next version; ConflictError if it is there already."""
    try:
        client.xadd(STREAM, event, id=f"{known.version + 1}-0")
    except redis.ResponseError as error:
        if TAKEN not in str(error):
            raise
        raise ConflictError(f"version {known.version + 1} is taken") from None
    return known.after({name: str(value) for name, value in event.items()})


def pay_out(client: Any, cents: int) -> int:
    """Decide, write, and decide again if the version was outdated; returns how often it was."""
    conflicts = 0
    while True:
        account = load(client, snapshot(client))
        if account.cents < cents:
            raise RefusedError(f"{account.cents} cents are less than {cents}")
        try:
            append(client, account, {"kind": "paid-out", "cents": cents})
        except ConflictError:
            conflicts += 1
        else:
            return conflicts


def is_paid(client: Any, cents: int) -> bool:
    """Pay out if the account allows it."""
    try:
        pay_out(client, cents)
    except RefusedError:
        return False
    return True


def main() -> None:
    """Open an account, disagree about it, write a snapshot, and let twenty people pay at once."""
    with connect(STREAM, SNAPSHOT) as client, ThreadPoolExecutor(4) as people:
        account = append(client, Account(), {"kind": "opened", "owner": "ann"})
        append(client, account, {"kind": "paid-in", "cents": 1000})

        alice = bob = load(client)
        print(f"alice and bob both see {alice}")
        append(client, alice, {"kind": "paid-out", "cents": 900})
        try:
            append(client, bob, {"kind": "paid-out", "cents": 900})
        except ConflictError as error:
            print(f"alice pays 900 out; bob wants to as well: {error}")
        print(f"bob looks again: {load(client)}")

        for _ in range(100):
            account = append(client, load(client), {"kind": "paid-in", "cents": 10})
        client.set(SNAPSHOT, json.dumps(asdict(account)))
        append(client, account, {"kind": "paid-in", "cents": 5})
        start = snapshot(client)
        replayed = load(client, start)
        assert replayed == load(client)
        print(f"from the snapshot {replayed.version - start.version} event is replayed, ", end="")
        print(f"without it {replayed.version}: both say {replayed.cents} cents")

        paid = list(people.map(lambda _: is_paid(client, 100), range(20)))
        account = load(client)
        print(f"20 people want 100 at once: {sum(paid)} get it, {account.cents} cents stay")


if __name__ == "__main__":
    main()
