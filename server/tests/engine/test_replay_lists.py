"""Lists and sets are restored from the effects of any commands, from a dump and from a rewrite."""

from __future__ import annotations

from random import Random

import pytest

from forebay.core.check import check_keyspace
from forebay.persistence.rdb.payload import dump, restore
from testkit.compat.list_commands import random_script
from testkit.engine_client import BLOCKED, EngineClient
from testkit.portrait import of_value, portrait
from testkit.replaying import replay, rewritten

LENGTH = 120


def run(seed: int) -> EngineClient:
    """A client that ran a random script, with random commands, and two clients that wait."""
    dice = Random(seed)
    client = EngineClient()
    waiting = [client.new(), client.new()]
    for words in random_script(seed, LENGTH):
        if dice.random() < 0.1:
            chance = dice.choice((["SPOP", "s1"], ["SPOP", "s2", "2"], ["SRANDMEMBER", "s3", "-3"]))
            client(*chance)
        if dice.random() < 0.05 and all(each.session.blocked is None for each in waiting):
            waiting[0]("BLMOVE l1 l2 LEFT RIGHT 0")
            waiting[1]("BLMPOP 0 2 l2 l3 RIGHT COUNT 2")
        if client(*words) is BLOCKED:
            client.sleep(10)
        client.messages()
        for each in waiting:
            each.messages()
    check_keyspace(client.engine.keyspace)
    return client


@pytest.mark.parametrize("seed", range(40))
def test_effects_lead_to_the_same_data(seed: int) -> None:
    client = run(seed)
    again = replay(client.engine.effects.take())
    assert portrait(again.keyspace) == portrait(client.engine.keyspace)
    check_keyspace(again.keyspace)


@pytest.mark.parametrize("seed", range(40, 60))
def test_a_rewrite_and_a_dump_hold_the_same_data(seed: int) -> None:
    client = run(seed)
    keyspace = client.engine.keyspace
    assert portrait(replay(rewritten(keyspace)).keyspace) == portrait(keyspace)
    for value in keyspace.databases[0].values.values():
        assert of_value(restore(dump(value))) == of_value(value)


def test_random_choices_leave_no_chance_in_the_aof() -> None:
    names = {effect[0] for seed in range(5) for effect in run(seed).effects()}
    assert not names & {b"SPOP", b"SRANDMEMBER", b"BLMOVE", b"BLMPOP", b"BRPOPLPUSH", b"BLPOP"}
