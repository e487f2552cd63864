"""Viewers with few rights: hidden data is not shown, and a forbidden action says so."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
import redis

from forebay_workers.message import Message
from forebay_workers.settle.letters import write
from testkit.consoles import Asker, console
from testkit.oracle import start_redis
from testkit.servers import ServerProcess, start_forebay
from testkit.waiting import wait_until

pytestmark = pytest.mark.one_server

USERS = {
    "seller": "~orders* +@all",
    "reader": "~orders* +@read +@connection +info",
    "counter": "~orders +xlen +xrange +xrevrange +@connection -client",
    "nobody": "+@connection -client",
}
SECRET = ("secret", "hidden", "buried:dead")


class Office:
    """A server with users and two kinds of streams, and its console."""

    def __init__(self, server: ServerProcess, asker: Asker) -> None:
        self.client = redis.Redis(port=server.port, password="boss")
        self._asker = asker

    def fill(self) -> None:
        """Streams of the sellers, and of others."""
        self.client.flushall()
        for name in ("orders", "orders:old", "secret"):
            self.client.xadd(name, {"item": "tea"}, id="1-0")
            self.client.xgroup_create(name, "billing", 0)
        self.client.xgroup_create("secret", "hidden", 0)
        self.client.xreadgroup("hidden", "ann", {"secret": ">"})
        for place in ("orders", "buried"):
            message = Message(place, b"1-0", [b"n", b"1"], first_ms=1)
            words = write(message, ValueError(f"hidden in {place}"), "billing", "ann", 1)
            self.client.execute_command("XADD", f"{place}:dead", "*", *words)
        self.client.xadd("forebay:pipelines", {"pipeline": "hidden", "event": "started"})
        for user, rules in USERS.items():
            self.client.execute_command(
                "ACL", "SETUSER", user, "reset", "on", ">pw", *rules.split()
            )

    def as_user(self, user: str) -> Asker:
        """A user who has signed in."""
        asker = Asker(self._asker.port)
        assert asker.enter(user, "boss" if user == "default" else "pw")[0] == 200
        return asker


@pytest.fixture(scope="module", params=["forebay", "redis"])
def _shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Office]:
    start = start_forebay if request.param == "forebay" else start_redis
    server = start(tmp_path_factory.mktemp("s"), "--requirepass", "boss")
    try:
        with console(f"redis://:boss@127.0.0.1:{server.port}", "--write") as asker:
            office = Office(server, asker)
            yield office
            office.client.close()
    finally:
        server.stop()


@pytest.fixture
def office(_shared: Office) -> Office:
    """The office in its first state; the console knows all of it."""
    boss = _shared.as_user("default")
    _shared.client.flushall()
    wait_until("the last day is forgotten", lambda: not boss.get("/streams?search=*")["total"])
    _shared.fill()
    wait_until("all is known", lambda: boss.get("/streams?search=*")["total"] == 6)
    return _shared


def names(asker: Asker) -> list[str]:
    return [row["name"] for row in asker.get("/streams?search=*")["streams"]]


def test_a_seller_sees_the_streams_of_sellers_and_nothing_of_others(office: Office) -> None:
    asker = office.as_user("seller")
    assert names(asker) == ["orders", "orders:dead", "orders:old"]
    found = asker.get("/streams")
    assert (found["total"], found["entries"], found["pending"]) == (3, 3, 0)
    assert [place["name"] for place in asker.get("/dead")["places"]] == ["orders:dead"]
    text = asker.request("GET", "/metrics").data.decode()
    assert 'stream="orders:old"' in text
    with asker.live("/streams?search=*") as states:
        text += str(next(states))
    with asker.live("/dead") as states:
        text += str(next(states))
    assert not [word for word in SECRET if word in text]


@pytest.mark.parametrize(
    "path",
    [
        *("", "/pins", "/entries", "/entries/1-0", "/entries/1-0/way", "/histogram"),
        *("/groups/hidden/consumers", "/groups/hidden/pending", "/groups/hidden/pending-bars"),
    ],
)
def test_what_is_refused_is_one_sentence_that_tells_nothing(office: Office, path: str) -> None:
    status, found = office.as_user("seller").ask("GET", f"/streams/secret{path}")
    assert status == 403
    assert "does not permit" in found["error"]
    assert "hidden" not in found["error"].replace("groups/hidden", "")


def test_dead_letters_and_pipelines_of_others_are_refused(office: Office) -> None:
    asker = office.as_user("seller")
    for path in ("/dead/buried%3Adead/kinds", "/dead/buried%3Adead/letters", "/pipelines"):
        status, found = asker.ask("GET", path)
        assert (status, "does not permit" in found["error"]) == (403, True), path


def test_lakes_are_for_those_who_may_read_what_pipelines_report(office: Office) -> None:
    told = {"event": "lake", "lake": "/hidden", "files": "1", "cuts": '{"orders": "5-0"}'}
    office.client.xadd("forebay:pipelines", {"pipeline": "hidden", **told})
    way = "/streams/orders/entries/1-0/way"
    assert office.as_user("seller").get(way)["lakes"] is None
    (lake,) = office.as_user("default").get(way)["lakes"]
    assert (lake["path"], lake["state"]) == ("/hidden", "archived")


def test_a_near_name_that_is_not_for_this_user_is_not_guessed(office: Office) -> None:
    office.client.xadd("orders_secret", {"n": 1})
    office.client.execute_command(
        "ACL", "SETUSER", "seller", "resetkeys", "~orders_secre", "~orders"
    )
    status, found = office.as_user("seller").ask("GET", "/streams/orders_secre/entries")
    assert (status, "orders_secret" in found["error"].replace("orders_secre ", "")) == (404, False)


def test_who_may_only_read_reads_and_changes_nothing(office: Office) -> None:
    asker = office.as_user("reader")
    assert len(asker.get("/streams/orders/entries")["entries"]) == 1
    for path, body in (
        ("/streams/orders/entries", {"fields": [["a", "b"]]}),
        ("/streams/orders/delete", {"ids": ["1-0"]}),
        ("/streams/orders/groups", {"name": "new"}),
        ("/streams/orders/groups/billing/delete", {}),
        ("/dead/orders%3Adead/redrive", {"all": True}),
        ("/dead/orders%3Adead/drop", {"all": True}),
    ):
        status, found = asker.ask("POST", path, body)
        assert (status, "does not permit" in found["error"]) == (403, True), (path, found)
    assert office.client.xlen("orders") == office.client.xlen("orders:dead") == 1


def test_who_may_not_ask_about_groups_sees_a_length_and_entries_alone(office: Office) -> None:
    asker = office.as_user("counter")
    (row,) = asker.get("/streams?sort=lag&order=down")["streams"]
    assert (row["name"], row["length"], row["groups"], row["lag"]) == ("orders", 1, None, None)
    assert len(asker.get("/streams/orders/entries")["entries"]) == 1
    assert asker.ask("GET", "/streams/orders")[0] == 403
    assert asker.ask("GET", "/streams/orders/pins")[0] == 403
    text = asker.request("GET", "/metrics").data.decode()
    assert 'redis_stream_length{db="db0",stream="orders"} 1' in text
    assert "group" not in text and "memory" not in text


def test_the_server_is_unknown_to_who_may_not_ask_it(office: Office) -> None:
    asker = office.as_user("counter")
    found = asker.get("/server")
    assert "does not permit INFO" in found["why_unknown"]
    assert (found["program"], found["memory_bytes"], found["curves"]) == (None, None, {})
    for path in ("/server/slow", "/server/settings", "/server/clients"):
        status, found = asker.ask("GET", path)
        assert (status, "does not permit" in found["error"]) == (403, True), path
    assert office.as_user("reader").get("/server")["memory_bytes"] > 0


def test_who_may_see_nothing_sees_nothing(office: Office) -> None:
    asker = office.as_user("nobody")
    assert names(asker) == []
    assert asker.get("/dead")["places"] == []
    assert "stream" not in asker.request("GET", "/metrics").data.decode()


def test_prometheus_signs_in_with_each_scrape(office: Office) -> None:
    stranger = Asker(office.as_user("seller").port)
    assert stranger.request("GET", "/metrics").status == 401
    word = base64.b64encode(b"seller:pw").decode()
    answer = stranger.request("GET", "/metrics", headers={"authorization": f"Basic {word}"})
    assert answer.status == 200
    assert b'stream="orders"' in answer.data and b"secret" not in answer.data


def test_new_rules_hold_for_who_is_signed_in(office: Office) -> None:
    asker = office.as_user("seller")
    with asker.live("/streams?search=*") as states:
        assert next(states)["total"] == 3
        office.client.execute_command("ACL", "SETUSER", "seller", "resetkeys", "~secret")
        found = next(one for one in states if [r["name"] for r in one["streams"]] == ["secret"])
    assert found["total"] == 1
    assert asker.ask("GET", "/streams/orders/entries")[0] == 403


def test_a_user_who_is_deleted_is_out(office: Office) -> None:
    asker = office.as_user("seller")
    with asker.live("/streams?search=*") as states:
        next(states)
        office.client.execute_command("ACL", "DELUSER", "seller")
        for _ in states:
            pass  # the answer ends
    assert asker.ask("GET", "/streams")[0] == 401
    assert asker.enter("seller", "pw")[0] == 401


def test_a_tail_of_a_stream_that_is_refused_says_so(office: Office) -> None:
    asker = office.as_user("seller")
    with asker.lines("/tail/secret") as lines:
        data = next(line for line in lines if line.startswith(b"data: "))
    assert b"does not permit" in data and b"tea" not in data
