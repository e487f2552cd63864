"""The page in a real browser, used as a person uses it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest

from console.tests.conftest import Scene
from console.tests.support.letters import bury
from testkit.browser import Browser, Chromium
from testkit.consoles import console
from testkit.servers import ServerProcess
from testkit.waiting import wait_until

pytestmark = pytest.mark.one_server

EVIL = "<img src=x onerror=document.title='broken'><script>document.title='broken'</script>"


@pytest.fixture
def page(scene: Scene, browser: Chromium) -> Iterator[Browser]:
    with browser.page(scene.asker.port) as found:
        yield found
        assert found.complaints() == []


def test_a_poisoned_message_is_found_read_mended_and_sent_back(scene: Scene, page: Browser) -> None:
    scene.client.xgroup_create("orders", "billing", "$", mkstream=True)
    bury(
        scene.client,
        "orders",
        ValueError("no price for '3,20'"),
        [b"item", b"tea", b"price", b"3,20"],
    )
    page.go("#/")
    page.click("#top nav a", "Dead letters")
    page.click("td.name a", "orders:dead")
    page.see("ValueError: no price for '3,20'")
    page.click("td.id a")
    page.see("Traceback", "delivered to group billing", "consumer worker-1")
    page.fill("textarea[aria-label=price]", "3.20")
    page.click("button.main", "Send back as edited")
    page.see("Sent back to orders", "No letters here")
    assert [fields for _, fields in scene.client.xrange("orders")] == [
        {b"item": b"tea", b"price": b"3.20"}
    ]
    page.go("#/stream/orders/groups/billing")
    wait_until("its lag is on the page", lambda: "Lag, entries\n1" in page.text())
    scene.client.xreadgroup("billing", "ann", {"orders": ">"}, noack=True)
    wait_until("the lag has fallen on the page", lambda: "Lag, entries\n0" in page.text())


def test_a_group_is_reset_after_a_look_at_what_that_does(scene: Scene, page: Browser) -> None:
    for number in range(7):
        scene.client.xadd("orders", {"n": number})
    scene.client.xgroup_create("orders", "billing", "$")
    page.go("#/stream/orders/groups/billing")
    page.click("button", "Reset…")
    page.fill("dialog input[name=to]", "start")
    page.click("dialog button", "Show what will happen")
    page.see("7 entries are delivered again")
    assert scene.client.xinfo_groups("orders")[0]["last-delivered-id"] != b"0-0"
    page.click("dialog button.danger")
    page.see("The group was moved")
    assert scene.client.xinfo_groups("orders")[0]["last-delivered-id"] == b"0-0"


def test_a_live_tail_shows_what_comes(scene: Scene, page: Browser) -> None:
    scene.client.xadd("orders", {"n": "first"})
    page.go("#/stream/orders")
    page.see("first")
    page.click("button", "▶ Live")
    page.see("Live: waiting for entries")
    wait_until("the reader waits at the server", lambda: waits(scene))
    for number in range(200):
        scene.client.xadd("orders", {"n": f"entry {number}"})
    page.see("entry 199", "entry 0")


def waits(scene: Scene) -> bool:
    return int(scene.client.info("clients")["blocked_clients"]) == 1


def test_nothing_that_a_stream_holds_is_run_by_the_browser(scene: Scene, page: Browser) -> None:
    scene.client.xadd(EVIL, {EVIL: EVIL})
    scene.client.xgroup_create(EVIL, EVIL, 0)
    scene.client.xreadgroup(EVIL, EVIL, {EVIL: ">"})
    bury(scene.client, EVIL, ValueError(EVIL), [EVIL.encode(), EVIL.encode()])
    scene.client.xadd("forebay:pipelines", {"pipeline": EVIL, "event": "failed", "text": EVIL})
    wait_until("they are known", lambda: scene.asker.get("/streams")["total"] == 2)
    (dead,) = scene.asker.get("/dead")["places"]
    stream = scene.asker.get("/streams?sort=name")["streams"][0]["key"]
    letter = scene.asker.get(f"/dead/{dead['key']}/letters")["letters"][0]["id"]
    for address in (
        *("#/", f"#/stream/{stream}", f"#/stream/{stream}/groups", f"#/stream/{stream}/keeps"),
        *(f"#/stream/{stream}/groups/{stream}", "#/dead", f"#/dead/{dead['key']}"),
        *(f"#/dead/{dead['key']}/{letter}", "#/pipelines"),
    ):
        page.go(address)
        page.see("<script>document.title='broken'</script>")
        assert page.driver.title != "broken", address
        assert not page.driver.find_elements("css selector", "img[src=x]"), address


def test_ten_thousand_streams_are_searched_and_sorted_without_a_stall(
    scene: Scene, page: Browser
) -> None:
    pipeline = scene.client.pipeline(transaction=False)
    for number in range(10_000):
        pipeline.xadd(f"stream:{number:05}", {"n": number})
    pipeline.execute()
    wait_until("all are known", lambda: scene.asker.get("/streams")["total"] == 10_000, 120)
    page.go("#/")
    page.see("1 to 50 of 10,000")
    page.fill("input[type=search]", "stream:0123*")
    page.see("stream:01230", "stream:01239")
    assert "?search=stream%3A0123*" in page.driver.current_url


def test_a_wrong_password_is_said_and_the_right_one_lets_in(
    make_forebay: Callable[..., ServerProcess], browser: Chromium
) -> None:
    server = make_forebay("--requirepass", "secret")
    url = f"redis://:secret@127.0.0.1:{server.port}"
    with console(url) as asker, browser.page(asker.port) as page:
        page.go("")
        page.see("Sign in")
        page.fill("input[name=password]", "guess")
        page.click("button.main")
        page.see("refuses the password")
        page.fill("input[name=password]", "secret")
        page.click("button.main")
        page.see("No streams yet", "read only")


def test_a_server_that_goes_away_is_said_and_comes_back_by_itself(
    make_forebay: Callable[..., ServerProcess], browser: Chromium
) -> None:
    server = make_forebay()
    with console(f"redis://127.0.0.1:{server.port}") as asker, browser.page(asker.port) as page:
        page.go("")
        page.see("No streams yet")
        server.process.send_signal(signal.SIGSTOP)
        try:
            page.see("server away")
        finally:
            server.process.send_signal(signal.SIGCONT)
        wait_until("it is back on the page", lambda: "server away" not in page.text())


def test_an_unfolded_entry_tells_what_became_of_it_in_each_group(
    scene: Scene, page: Browser
) -> None:
    scene.client.xadd("orders", {"item": "tea"})
    scene.client.xgroup_create("orders", "billing", 0)
    scene.client.xgroup_create("orders", "shipping", 0)
    scene.client.xreadgroup("billing", "ann", {"orders": ">"})
    page.go("#/stream/orders")
    page.click("td.id button.link")
    page.see("In its groups", "pending with ann", "not delivered yet")
