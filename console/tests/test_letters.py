"""Dead letters in the console: grouped by error, one with its traceback, fixed, sent back once."""

from __future__ import annotations

import threading

import pytest

from console.tests.conftest import Scene
from forebay_workers.message import Message
from forebay_workers.settle.letters import write
from testkit.waiting import wait_until


@pytest.fixture
def buried(scene: Scene) -> list[str]:
    """Five letters of two kinds in orders:dead; their IDs."""
    ids = []
    for number in range(5):
        error = ValueError(f"no price for {number}") if number < 3 else KeyError("customer")
        message = Message("orders", f"{number + 1}-0".encode(), [b"n", b"%d" % number], first_ms=1)
        fields = write(message, error, "billing", "ann", 1794900000000)
        ids.append(scene.client.execute_command("XADD", "orders:dead", "*", *fields).decode())
    return ids


def test_letters_are_grouped_by_error_and_found_by_kind(scene: Scene, buried: list[str]) -> None:
    wait_until("they are known", lambda: scene.asker.get("/dead")["places"])
    (place,) = scene.asker.get("/dead")["places"]
    assert (place["name"], place["letters"]) == ("orders:dead", 5)
    kinds = scene.asker.get(f"/dead/{place['key']}/kinds")["kinds"]
    assert [(kind["kind"], kind["count"]) for kind in kinds] == [
        ("ValueError: no price for …", 3),
        ("KeyError: …", 2),
    ]
    letters = scene.asker.get(f"/dead/{place['key']}/letters?kind=KeyError%3A+%E2%80%A6")["letters"]
    assert [one["id"] for one in letters] == buried[:2:-1]


def test_a_letter_shows_its_error_and_goes_back_mended_once(
    scene: Scene, buried: list[str]
) -> None:
    letter = scene.asker.get(f"/dead/orders%3Adead/letters/{buried[0]}")
    assert letter["error"] == "ValueError: no price for 0"
    assert "ValueError" in letter["traceback"]
    path = f"/dead/orders%3Adead/letters/{buried[0]}/redrive"
    assert scene.asker.post(path, {"fields": [["n", "7"]]}) == {"sent": 1, "to": "orders"}
    assert [fields for _, fields in scene.client.xrange("orders")] == [{b"n": b"7"}]
    status, found = scene.asker.ask("POST", path, {})
    assert (status, "sent back or dropped" in found["error"]) == (404, True)


def test_two_who_send_the_same_letters_back_send_each_once(scene: Scene, buried: list[str]) -> None:
    sent: list[int] = []

    def send() -> None:
        sent.append(scene.asker.post("/dead/orders%3Adead/redrive", {"all": True})["sent"])

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(sent) == 5
    assert scene.client.xlen("orders") == 5
    assert scene.client.xlen("orders:dead") == 0


def test_letters_are_dropped_by_kind(scene: Scene, buried: list[str]) -> None:
    kind = {"kind": "KeyError: …"}
    assert scene.asker.post("/dead/orders%3Adead/drop", kind) == {"dropped": 2}
    assert scene.client.xlen("orders:dead") == 3


def test_an_entry_is_followed_through_all_groups(scene: Scene) -> None:
    ids = [scene.client.xadd("orders", {"n": n}, id=f"{n}-0").decode() for n in (1, 2, 3)]
    for group in ("done", "given", "free", "new", "failed"):
        scene.client.xgroup_create("orders", group, 0)
    for group in ("done", "given", "free", "failed"):
        scene.client.xreadgroup(group, "ann", {"orders": ">"}, count=2)
    for group in ("done", "failed"):
        scene.client.xack("orders", group, *ids)
    scene.asker.post("/streams/orders/groups/free/release", {"ids": ids[:2]})
    message = Message("orders", b"2-0", [b"n", b"2"], first_ms=1)
    words = write(message, ValueError("no price"), "failed", "ann", 1794900000000)
    letter = scene.client.execute_command("XADD", "orders:dead", "*", *words).decode()
    found = scene.asker.get("/streams/orders/entries/2-0/way")
    states = {one["group"]: one["state"] for one in found["groups"]}
    released = "released" if scene.server.name == "forebay" else "pending"
    assert states == {
        "done": "done",
        "given": "pending",
        "free": released,
        "new": "not_given",
        "failed": "dead",
    }
    by_name = {one["group"]: one for one in found["groups"]}
    assert (by_name["given"]["consumer"], by_name["given"]["deliveries"]) == ("ann", 1)
    assert (by_name["failed"]["letter"], by_name["failed"]["error"]) == (
        letter,
        "ValueError: no price",
    )
    scene.client.xdel("orders", "2-0")
    assert scene.asker.get("/streams/orders/entries/2-0/way")["is_there"] is False
    assert scene.asker.ask("GET", "/streams/orders/entries/9-9/way")[0] == 404
