"""The plan: which member should own which partition.

    before   a: 0 1 2 3   b: 4 5 6 7          c joins
    after    a: 0 1 2     b: 4 5 6     c: 3 7

Each member has as many as any other, or one more.  As few partitions as possible move.  The plan
says who *should* own a partition; the partition's own key says who *does* (owners.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Owners of the partitions 0, 1, 2, ..., each by the name of a member."""

    members: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    def of(self, member: str) -> set[int]:
        """The partitions that a member should own."""
        return {number for number, owner in enumerate(self.owners) if owner == member}

    def dump(self) -> str:
        """The text for the server: owners by their index among the members."""
        places = {member: place for place, member in enumerate(self.members)}
        owners = [places[owner] for owner in self.owners]
        return json.dumps({"members": self.members, "owners": owners})


def load(text: bytes | None) -> Plan:
    """The plan that the server has; an empty one if there is none."""
    if text is None:
        return Plan()
    found = json.loads(text)
    members = tuple(found["members"])
    return Plan(members, tuple(members[place] for place in found["owners"]))


def share(before: Plan, members: Iterable[str], count: int) -> Plan:
    """Share ``count`` partitions among members; ``before`` has the current owners."""
    names = sorted(members)
    if not names:
        return Plan()
    kept: dict[str, list[int]] = {name: [] for name in names}
    for number, owner in enumerate(before.owners[:count]):
        if owner in kept:
            kept[owner].append(number)
    # If the division leaves a rest, the largest members get one more: then fewer have to move.
    by_size = sorted(names, key=lambda name: (-len(kept[name]), name))
    each, more = divmod(count, len(names))
    quotas = {name: each + (place < more) for place, name in enumerate(by_size)}
    for name, numbers in kept.items():
        del numbers[quotas[name] :]
    owned = {number: name for name, numbers in kept.items() for number in numbers}
    return Plan(tuple(names), _filled(owned, quotas, count, by_size))


def _filled(
    owned: dict[int, str], quotas: dict[str, int], count: int, names: Sequence[str]
) -> tuple[str, ...]:
    """Give partitions without an owner to members that have too few."""
    left = dict(quotas)
    for name in owned.values():
        left[name] -= 1
    takers = iter([name for name in reversed(names) for _ in range(left[name])])
    return tuple(owned[number] if number in owned else next(takers) for number in range(count))
