"""Random clients wait, give up, are killed and served: the counters must always be right.

The model is plain: an answered client is in no queue, a waiting one is in the queue of each of
its keys, and the three counters are correct.  Exactly one client receives each value pushed to
a list, and exactly one reader of the group each entry of a stream, in the order of the queue.
"""

from __future__ import annotations

from random import Random

import pytest

from testkit.engine_client import BLOCKED, EngineClient

KEYS = ["a", "b", "c"]


def check_books(clients: list[EngineClient]) -> None:
    """Queues, sessions and counters of the engine agree."""
    engine = clients[0].engine
    blocking = engine.blocking
    waiting = [c.session for c in clients if c.session.blocked is not None]
    queues = [
        (db, key, queue) for db in engine.keyspace.databases for key, queue in db.waiting.items()
    ]
    assert blocking.blocked_clients == len(waiting)
    assert blocking.blocking_keys == len(queues)
    assert blocking.blocking_keys_on_missing == sum(q.on_missing > 0 for _, _, q in queues)
    for db, key, queue in queues:
        assert queue.sessions, "an empty queue"
        assert queue.on_missing == sum(s.on_missing_key for s in queue.sessions.values())
        for session, state in queue.sessions.items():
            assert session.blocked is state
            assert state.db is db
            assert key in state.keys
    for session in waiting:
        assert session.blocked.queued
        for key in session.blocked.keys:
            assert session in session.blocked.db.waiting[key].sessions
    assert engine.keyspace.ready == []


class Scene:
    """Some clients, and who received the pushed values."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.main = EngineClient()
        self.clients = [self.main.new() for _ in range(12)]
        self.pushed: list[bytes] = []
        self.got: list[bytes] = []

    def step(self) -> None:
        random = self.random
        idle = [c for c in self.clients if c.session.blocked is None]
        waiting = [c for c in self.clients if c.session.blocked is not None]
        roll = random.random()
        if roll < 0.4 and idle:
            self.collect(random.choice(idle)(*self.wait_words()))
        elif roll < 0.7:
            value = b"%d" % len(self.pushed)
            if self.main("TYPE", key := random.choice(KEYS)) in ("list", "none"):
                self.pushed.append(value)
                self.main("RPUSH", key, value)
        elif roll < 0.8 and waiting:
            chosen = random.choice(waiting)
            kind = random.choice(["TIMEOUT", "ERROR"])
            self.main("CLIENT", "UNBLOCK", chosen.session.id, kind)
        elif roll < 0.85 and waiting:
            gone = random.choice(waiting)
            gone.close()
            self.clients.remove(gone)
            self.clients.append(self.main.new())
        elif roll < 0.95:
            self.main.sleep(random.choice([1, 40, 400]))
        else:
            self.main("MULTI")
            for key in random.sample(KEYS, 2):
                self.main("LPUSH", key, value := b"%d" % len(self.pushed))
                self.pushed.append(value)
            self.main("EXEC")
        for client in self.clients:
            for reply in client.messages():
                self.collect(reply)

    def wait_words(self) -> list[str]:
        keys = self.random.sample(KEYS, self.random.randint(1, len(KEYS)))
        return [self.random.choice(["BLPOP", "BRPOP"]), *keys, self.random.choice(["0", "0.3"])]

    def collect(self, reply: object) -> None:
        if isinstance(reply, list):
            self.got.append(reply[1])
        else:
            assert reply is BLOCKED or reply is None or isinstance(reply, Exception)

    def left_over(self) -> list[bytes]:
        return [value for key in KEYS for value in self.main("LRANGE", key, 0, -1)]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_books_balance_and_nothing_is_lost(seed: int) -> None:
    scene = Scene(seed)
    for _ in range(300):
        scene.step()
        check_books(scene.clients)
    assert sorted(scene.got + scene.left_over()) == sorted(scene.pushed)
    for client in scene.clients:
        client.close()
    assert scene.main.engine.blocking.blocked_clients == 0
    assert scene.main.engine.blocking.deadlines.next_ms() == -1


@pytest.mark.parametrize("seed", range(10))
def test_the_readers_of_a_group_take_turns_in_the_order_of_their_waiting(seed: int) -> None:
    random = Random(seed)
    main = EngineClient()
    main("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    readers = [main.new() for _ in range(8)]
    order: list[EngineClient] = []
    for _ in range(200):
        idle = [r for r in readers if r.session.blocked is None]
        if idle and random.random() < 0.6:
            reader = random.choice(idle)
            name = str(reader.session.id)
            words = f"XREADGROUP GROUP g {name} COUNT 1 BLOCK 0 STREAMS s >"
            if reader(words) is BLOCKED:
                order.append(reader)
        else:
            main("XADD", "s", "*", "f", "v")
            if order:
                served = order.pop(0)
                assert isinstance(served.read(), list)
        check_books(readers)
        assert all(reader.session.blocked is not None for reader in order)
