"""Live answers: first the whole state, then its changes; the result equals a new request."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console.tests.conftest import Scene
from forebay_console.web.events import Bell, followed, told
from testkit.consoles import changed, states
from testkit.waiting import wait_until

ROWS = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 3) | st.lists(st.integers(0, 2))),
    max_size=4,
)
STATES = st.dictionaries(st.sampled_from("xyz"), ROWS | st.integers(0, 3) | st.none(), min_size=1)


@given(st.lists(STATES, min_size=1, max_size=5))
def test_whoever_puts_the_changes_in_has_what_is_there_now(wanted: list[dict[str, Any]]) -> None:
    last, known = None, None
    for state in wanted:
        text = told(last, state)
        last = state
        if text:
            lines = text.encode().splitlines(keepends=True)
            kind = lines[0].decode().strip()
            data = json.loads(lines[1].partition(b": ")[2])
            known = data if kind == "event: state" else changed(known, data)
        assert known == state


def test_what_changes_during_a_look_is_told_by_the_next_one() -> None:
    async def two_events() -> list[str]:
        bell, looks = Bell(), []
        bell.open()

        def look() -> dict[str, int]:
            looks.append(1)
            if len(looks) == 1:
                bell.ring()
            return {"looks": len(looks)}

        events = followed(bell, look)
        return [await anext(events), await anext(events)]

    first, second = asyncio.run(two_events())
    assert first.startswith("event: state") and second.startswith("event: change")


def test_one_new_entry_is_one_small_event(scene: Scene) -> None:
    for number in range(30):
        scene.client.xadd(f"stream:{number:02}", {"n": 1})
    wait_until("all are known", lambda: scene.asker.get("/streams")["total"] == 30)
    with scene.asker.lines("/live/streams?count=50") as lines:
        assert next(lines) == b"event: state\n"
        scene.client.xadd("stream:07", {"n": 2})
        found = (line for line in lines if line.startswith(b"data: [") and b'"length"' in line)
        changes = json.loads(next(found).partition(b": ")[2])
    assert [["streams", 7, "length"], 2] in changes
    assert {way[1] for way, _ in changes if way[-1] == "length"} == {7}


def test_what_is_followed_is_what_a_question_says(scene: Scene) -> None:
    scene.client.xadd("orders", {"n": 1})
    scene.client.xgroup_create("orders", "billing", 0)
    wait_until("it is known", lambda: scene.asker.get("/streams")["total"] == 1)
    with scene.asker.lines("/live/streams/orders") as lines:
        seen = states(lines)
        next(seen)
        scene.client.xreadgroup("billing", "ann", {"orders": ">"})
        groups = next(one["group_list"] for one in seen if one["pending"] == 1)
    assert [(one["name"], one["pending"], one["lag"]) for one in groups] == [("billing", 1, 0)]
    scene.client.xgroup_destroy("orders", "billing")
    wait_until(
        "a group that has gone is not shown",
        lambda: scene.asker.get("/streams/orders")["group_list"] == [],
    )
