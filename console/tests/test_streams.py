"""Streams, entries and groups, as the page requests them, on both kinds of server."""

from __future__ import annotations

import base64
from typing import Any

from console.tests.conftest import Scene
from testkit.consoles import key
from testkit.waiting import wait_until


def stream_row(scene: Scene, name: str) -> dict[str, Any] | None:
    rows = scene.asker.get("/streams?count=500")["streams"]
    return next((row for row in rows if row["name"] == name), None)


def known(scene: Scene, name: str = "orders") -> None:
    wait_until("the poller has met it", lambda: stream_row(scene, name) is not None)


def test_the_overview_shows_what_a_server_holds_and_leaves_internal_streams_out(
    scene: Scene,
) -> None:
    for number in range(5):
        scene.client.xadd("orders", {"n": number})
    scene.client.xadd("forebay:pipelines", {"pipeline": "p"})
    scene.client.set("a string", "x")
    scene.client.xgroup_create("orders", "billing", 0)
    scene.client.xreadgroup("billing", "ann", {"orders": ">"}, count=2)
    known(scene)
    wait_until("the group was seen", lambda: (stream_row(scene, "orders") or {})["lag"] == 3)
    row = stream_row(scene, "orders")
    assert row is not None
    assert (row["length"], row["groups"], row["pending"]) == (5, 1, 2)
    assert row["worst_group"] == "billing"
    # The console's clock is that of the last round, which may be before these entries.
    wait_until("it has an age", lambda: (stream_row(scene, "orders") or {})["behind_ms"] > 0)
    names = [one["name"] for one in scene.asker.get("/streams")["streams"]]
    assert names == ["orders"]


def test_a_stream_that_is_deleted_leaves_the_overview(scene: Scene) -> None:
    scene.client.xadd("orders", {"n": 1})
    known(scene)
    scene.client.delete("orders")
    wait_until("it is gone", lambda: stream_row(scene, "orders") is None)


def test_entries_are_paged_in_both_orders_and_none_is_missed(scene: Scene) -> None:
    ids = [scene.client.xadd("orders", {"n": n}, id=f"{n + 1}-0").decode() for n in range(130)]
    for order, wanted in (("newest", ids[::-1]), ("oldest", ids)):
        found: list[str] = []
        bound = ""
        while True:
            page = scene.asker.get(f"/streams/orders/entries?order={order}&count=50{bound}")
            found += [entry["id"] for entry in page["entries"]]
            if page["next"] is None:
                break
            bound = f"&{'to' if order == 'newest' else 'from'}={page['next']}"
        assert found == wanted


def test_a_filter_finds_a_field_by_its_value_or_by_a_part_of_it(scene: Scene) -> None:
    for item in ("tea", "coffee", "green tea"):
        scene.client.xadd("orders", {"item": item, "note": "tea"})
    ask = scene.asker.get
    assert len(ask("/streams/orders/entries?field=item&value=tea")["entries"]) == 1
    assert len(ask("/streams/orders/entries?field=item&value=tea&contains=1")["entries"]) == 2
    assert len(ask("/streams/orders/entries?value=tea")["entries"]) == 3
    assert len(ask("/streams/orders/entries?field=size")["entries"]) == 0


def test_an_entry_may_hold_anything_and_is_shown_as_what_it_is(scene: Scene) -> None:
    data = bytes(range(256))
    entry_id = scene.client.execute_command("XADD", "bin", "*", b"\xff", data, "a", "1", "a", "2")
    (entry,) = scene.asker.get("/streams/bin/entries")["entries"]
    assert entry["id"] == entry_id.decode()
    name, value = entry["fields"][0]
    assert base64.b64decode(name["base64"]) == b"\xff"
    assert base64.b64decode(value["base64"]) == data
    assert [pair[1]["text"] for pair in entry["fields"][1:]] == ["1", "2"]


def test_a_large_entry_is_cut_and_says_how_large_it_is(scene: Scene) -> None:
    scene.client.xadd("big", {"body": "ä" * 5_000_000})
    (entry,) = scene.asker.get("/streams/big/entries")["entries"]
    value = entry["fields"][0][1]
    assert value["bytes"] == 10_000_000
    assert 900 < len(value["text"]) <= 1000
    whole = scene.asker.get(f"/streams/big/entries/{entry['id']}")
    assert len(whole["fields"][0][1]["text"]) == 128_000


def test_a_name_may_be_any_bytes(scene: Scene) -> None:
    name = b"a/b \xff?#%41"
    scene.client.xadd(name, {"n": 1})
    row = {}

    def is_known() -> bool:
        rows = scene.asker.get("/streams")["streams"]
        row.update(rows[0] if rows else {})
        return bool(rows)

    wait_until("it is known", is_known)
    assert row["key"] == key(name)
    assert len(scene.asker.get(f"/streams/{row['key']}/entries")["entries"]) == 1


def test_bars_count_the_entries_of_their_time(scene: Scene) -> None:
    for ms in (1000, 1001, 1500, 1999):
        scene.client.xadd("orders", {"n": 1}, id=f"{ms}-0")
    found = scene.asker.get("/streams/orders/histogram?bars=2")
    assert found == {"start_ms": 1000, "step_ms": 500, "bars": [2, 2], "is_exact": True}


def test_bars_of_a_long_stream_are_near_the_truth_where_they_cannot_be_exact(scene: Scene) -> None:
    pipeline = scene.client.pipeline(transaction=False)
    for ms in range(6000):
        pipeline.xadd("orders", {"n": 1}, id=f"{ms + 1}-0")
    pipeline.execute()
    found = scene.asker.get("/streams/orders/histogram?bars=6")
    assert found["is_exact"] == (scene.server.name == "forebay")
    assert all(900 <= bar <= 1100 for bar in found["bars"]), found


def test_pins_say_who_needs_what(scene: Scene) -> None:
    ids = [scene.client.xadd("orders", {"n": n}).decode() for n in range(4)]
    scene.client.xgroup_create("orders", "slow", 0)
    scene.client.xgroup_create("orders", "done", "$")
    scene.client.xreadgroup("slow", "ann", {"orders": ">"}, count=2)
    known(scene)
    wait_until(
        "the groups were seen", lambda: len(scene.asker.get("/streams/orders/pins")["pins"]) == 2
    )
    wait_until(
        "what is pending was seen",
        lambda: scene.asker.get("/streams/orders/pins")["pins"][0]["why"] == "pending",
    )
    pins = scene.asker.get("/streams/orders/pins")
    assert pins["free_until"] == ids[0]
    assert [(pin["group"], pin["why"]) for pin in pins["pins"]] == [
        ("slow", "pending"),
        ("done", "nothing"),
    ]


def test_a_reset_is_previewed_and_then_done(scene: Scene) -> None:
    for number in range(5):
        scene.client.xadd("orders", {"n": number})
    scene.client.xgroup_create("orders", "billing", "$")
    path = "/streams/orders/groups/billing"
    assert scene.asker.post(f"{path}/reset-preview", {"to": "start"})["again"] == 5
    assert scene.client.xinfo_groups("orders")[0]["last-delivered-id"] != b"0-0"
    scene.asker.post(f"{path}/reset", {"to": "start"})
    assert scene.client.xinfo_groups("orders")[0]["last-delivered-id"] == b"0-0"


def test_pending_entries_are_listed_counted_claimed_released_and_acknowledged(
    scene: Scene,
) -> None:
    ids = [scene.client.xadd("orders", {"n": number}).decode() for number in range(3)]
    scene.client.xgroup_create("orders", "billing", 0)
    scene.client.xreadgroup("billing", "ann", {"orders": ">"})
    path = "/streams/orders/groups/billing"
    listed = scene.asker.get(f"{path}/pending")["pending"]
    assert [(one["id"], one["consumer"], one["deliveries"]) for one in listed] == [
        (entry_id, "ann", 1) for entry_id in ids
    ]
    assert sum(scene.asker.get(f"{path}/pending-bars")["by_deliveries"]) == 3
    assert scene.asker.post(f"{path}/claim", {"ids": ids[:1], "to": "bob"}) == {"claimed": 1}
    assert scene.asker.post(f"{path}/release", {"ids": ids[1:2]}) == {"released": 1}
    assert scene.asker.post(f"{path}/acknowledge", {"ids": ids[2:]}) == {"acknowledged": 1}
    assert scene.client.xpending("orders", "billing")["pending"] == 2


def test_a_trim_says_first_what_goes_and_who_needs_it(scene: Scene) -> None:
    for number in range(10):
        scene.client.xadd("orders", {"n": number})
    scene.client.xgroup_create("orders", "billing", 0)
    scene.client.xreadgroup("billing", "ann", {"orders": ">"}, count=3)
    preview = scene.asker.post("/streams/orders/trim-preview", {"maxlen": 4})
    assert (preview["going"], preview["staying"], preview["pending"]) == (6, 4, 3)
    assert scene.client.xlen("orders") == 10
    assert scene.asker.post("/streams/orders/trim", {"maxlen": 4}) == {"removed": 6}
    assert scene.client.xlen("orders") == 4


def test_entries_are_added_and_deleted_with_a_preview(scene: Scene) -> None:
    added = scene.asker.post("/streams/orders/entries", {"fields": [["item", "tea"]]})["id"]
    assert scene.client.xrange("orders") == [(added.encode(), {b"item": b"tea"})]
    preview = scene.asker.post("/streams/orders/delete-preview", {"ids": [added, "1-1"]})
    assert (preview["there"], preview["asked"]) == (1, 2)
    assert scene.asker.post("/streams/orders/delete", {"ids": [added]}) == {"deleted": 1}


def test_what_cannot_be_is_one_sentence(scene: Scene) -> None:
    scene.client.set("string", "x")
    scene.client.xadd("orders", {"n": 1})
    for path, status, words in (
        ("/streams/nothing/entries", 404, "there is no stream nothing"),
        ("/streams/string/entries", 409, "is a string and no stream"),
        ("/streams/orders/entries?from=soon", 400, "is not an ID"),
        ("/streams/orders/entries?order=sideways", 400, "order must be one of"),
        ("/streams/orders/groups/none/consumers", 404, "has no group none"),
    ):
        found_status, found = scene.asker.ask("GET", path)
        assert (found_status, words in found["error"]) == (status, True), (path, found)


def test_a_pipeline_has_its_curves_and_the_tables_that_it_fills(scene: Scene) -> None:
    add = scene.client.xadd
    batch = {"pipeline": "totals", "event": "batch", "batch": 1, "rows": 10, "lag_entries": 4}
    add("forebay:pipelines", {"pipeline": "totals", "event": "started", "text": "run"})
    for rate in (5, 7.5, "nan"):
        add("forebay:pipelines", {**batch, "rows_per_s": rate})
    for files in (1, 2):
        told = {"lake": "lakes/totals", "version": files, "files": files, "bytes": 1000 * files}
        add("forebay:pipelines", {"pipeline": "totals", "event": "lake", **told})
    (one,) = scene.asker.get("/pipelines")["pipelines"]
    assert (one["state"], one["curve"], one["lag_entries"]) == ("running", [5, 7.5, None], 4)
    (lake,) = one["lakes"]
    assert (lake["path"], lake["files"], lake["bytes"]) == ("lakes/totals", 2, 2000)
    assert lake["committed_ms"] is None
