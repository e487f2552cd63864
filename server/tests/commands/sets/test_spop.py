"""SPOP and SRANDMEMBER: every member is equally likely, and nothing is walked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from forebay.commands.api.settings import OutputLimit
from forebay.commands.sets.random_members import sample
from forebay.core.members import Members
from server.tests.support.keyspace_events import listen
from server.tests.support.replies import SYNTAX, WRONGTYPE
from testkit.engine_client import EngineClient, ReplyError

#: Fair random choices stay below this in 99.9 % of runs (9 degrees of freedom).
CHI_SQUARE = 27.9


@pytest.fixture
def client() -> EngineClient:
    return EngineClient()


def fill(client: EngineClient, size: int, key: str = "s") -> set[bytes]:
    members = [f"m{i}" for i in range(size)]
    client("SADD", key, *members)
    client.effects()
    return {member.encode() for member in members}


def unfairness(counts: Counter[bytes], sides: int, rolls: int) -> float:
    fair = rolls / sides
    return sum((count - fair) ** 2 / fair for count in counts.values())


def test_a_popped_member_is_gone(client: EngineClient) -> None:
    members = fill(client, 5)
    member = client("SPOP s")
    assert set(client("SMEMBERS s")) == members - {member}
    assert client.effects() == [[b"SREM", b"s", member]]
    assert client("SPOP missing") is None


def test_the_last_one_takes_the_key_along(client: EngineClient) -> None:
    events = listen(client)
    fill(client, 1)
    client("SPOP s")
    assert events() == [(0, "sadd", "s"), (0, "spop", "s"), (0, "del", "s")]


def test_few_that_are_left_of_many_are_a_small_set_again(client: EngineClient) -> None:
    fill(client, 1000)
    assert client("OBJECT ENCODING s") == b"hashtable"
    client("SPOP s 700")
    assert client("OBJECT ENCODING s") == b"hashtable"
    client("SPOP s 290")
    assert client("OBJECT ENCODING s") == b"listpack"
    assert client("SCARD s") == 10


def test_nothing_is_shown_of_a_set_that_is_not_there(client: EngineClient) -> None:
    assert client("SRANDMEMBER missing") is None
    assert client("SRANDMEMBER missing 5") == []
    assert client("SRANDMEMBER s 1 x") == SYNTAX


def test_several_are_popped_at_once(client: EngineClient) -> None:
    members = fill(client, 3000)
    popped = client("SPOP s 2000")
    assert len(set(popped)) == 2000
    assert set(client("SMEMBERS s")) == members - set(popped)
    effects = client.effects()
    assert [len(effect) - 2 for effect in effects[1:-1]] == [1024, 976]
    assert [member for effect in effects[1:-1] for member in effect[2:]] == popped


def test_popping_all_deletes_the_key(client: EngineClient) -> None:
    members = fill(client, 3)
    assert set(client("SPOP s 3")) == members
    assert client.effects() == [[b"DEL", b"s"]]
    assert client("EXISTS s") == 0


def test_popped_sets_are_sets_in_resp3(client: EngineClient) -> None:
    fill(client, 5)
    client("HELLO 3")
    assert client.raw("SPOP s 2")[:4] == b"~2\r\n"
    assert client.raw("SPOP s 0") == b"~0\r\n"
    assert client.raw("SPOP missing 1") == b"~0\r\n"
    assert client.raw("SPOP s 9")[:4] == b"~3\r\n"
    assert client.raw("SRANDMEMBER missing 1") == b"*0\r\n"


def test_what_is_refused(client: EngineClient) -> None:
    client("SET text 1")
    positive = ReplyError("ERR value is out of range, must be positive")
    assert client("SPOP s -1") == positive
    assert client("SPOP s x") == positive
    assert client("SPOP s 1 2") == SYNTAX
    assert client("SPOP text") == client("SPOP text 1") == WRONGTYPE
    assert client("SRANDMEMBER text") == client("SRANDMEMBER text 1") == WRONGTYPE
    assert client("SRANDMEMBER s 1 2") == SYNTAX
    assert client("SRANDMEMBER s x") == ReplyError("ERR value is not an integer or out of range")


def test_no_reply_is_begun_that_would_be_too_large_to_send() -> None:
    client = EngineClient(output_limits={"normal": OutputLimit(600, 0, 0)})
    fill(client, 3)
    assert len(client("SRANDMEMBER s -100")) == 100
    assert client("SRANDMEMBER s -101") == ReplyError(
        "ERR value is out of range, value must between -100 and 9223372036854775807"
    )


def test_a_shown_member_stays(client: EngineClient) -> None:
    members = fill(client, 10)
    assert client("SRANDMEMBER s") in members
    assert set(client("SRANDMEMBER s 20")) == members
    assert len(set(client("SRANDMEMBER s 4"))) == 4
    assert len(client("SRANDMEMBER s -40")) == 40
    assert client("SCARD s") == 10
    assert client.effects() == []


@pytest.mark.parametrize("command", ["SRANDMEMBER s", "SRANDMEMBER s -1", "SRANDMEMBER s 1"])
def test_each_member_is_shown_as_often_as_any_other(client: EngineClient, command: str) -> None:
    fill(client, 10)
    counts: Counter[bytes] = Counter()
    for _ in range(2000):
        counts.update([found] if isinstance(found := client(command), bytes) else found)
    assert unfairness(counts, 10, 2000) < CHI_SQUARE


def test_each_member_is_popped_as_often_as_any_other(client: EngineClient) -> None:
    counts: Counter[bytes] = Counter()
    for _ in range(1000):
        fill(client, 10)
        counts[client("SPOP s")] += 1
        counts.update(client("SPOP s 1"))
        client("DEL s")
    assert unfairness(counts, 10, 2000) < CHI_SQUARE


def test_a_sample_has_every_choice_equally_often() -> None:
    """All draws of 3 out of 5, by enumeration instead of chance."""

    def every(draws: list[int]) -> Iterator[list[int]]:
        if len(draws) == 3:
            yield draws
            return
        for draw in range(5 - len(draws)):
            yield from every([*draws, draw])

    def dice(rolled: list[int], bounds: list[int]) -> int:
        return rolled[len(bounds) - 1]

    seen: Counter[tuple[int, ...]] = Counter()
    for draws in every([]):
        bounds: list[int] = []

        def below(n: int, rolled: list[int] = draws, bounds: list[int] = bounds) -> int:
            bounds.append(n)
            return dice(rolled, bounds)

        seen[tuple(sample(5, 3, below))] += 1
    assert len(seen) == 5 * 4 * 3
    assert set(seen.values()) == {1}


def test_a_large_set_popped_one_by_one_is_walked_once(
    client: EngineClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    walks = 0
    plain = Members.ordered

    def counting(self: Members) -> list[bytes]:
        nonlocal walks
        walks += self.order is None
        return plain(self)

    members = fill(client, 5000)
    monkeypatch.setattr(Members, "ordered", counting)
    popped = [client("SPOP s") for _ in range(4000)]
    client("SADD s back")
    popped += [client("SPOP s") for _ in range(1001)]
    assert walks == 1
    assert set(popped) == members | {b"back"}
    assert client("EXISTS s") == 0
