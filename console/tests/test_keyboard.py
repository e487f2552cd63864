"""The page without a mouse: every way has keys, and the focus is where one expects it."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from console.tests.support.letters import bury
from console.tests.support.stage import Stage
from testkit.waiting import wait_until

PRICE = [b"item", b"tea", b"price", b"3,20"]


def test_a_poisoned_message_is_mended_and_sent_back_with_keys_alone(stage: Stage) -> None:
    page = stage.page
    bury(stage.client, "teas", ValueError("no price for '3,20'"), PRICE)
    stage.known("teas:dead")
    page.go("#/")
    page.see("teas:dead")
    stage.tab_to("Dead letters")
    stage.press(Keys.ENTER)
    page.see("Workers bury them", "teas:dead")
    stage.tab_to("teas:dead")
    stage.press(Keys.ENTER)
    page.see("Letters, newest first", "From")
    letter = stage.client.xrange("teas:dead")[0][0].decode()
    page.see(letter)
    stage.tab_to(letter)
    stage.press(Keys.ENTER)
    page.see("Traceback", "ValueError: no price")
    stage.tab_to("price")
    stage.press(Keys.END, *[Keys.BACKSPACE] * 4, "3.20")
    stage.tab_to("Send back as it stands here")
    stage.press(Keys.ENTER)
    page.see("Sent back to teas", "No letters here")
    assert [fields for _, fields in stage.client.xrange("teas")] == [
        {b"item": b"tea", b"price": b"3.20"}
    ]


def test_a_dialog_takes_the_focus_and_gives_it_back(stage: Stage) -> None:
    stage.client.xadd("cups", {"n": 1})
    stage.client.xgroup_create("cups", "wash", "$")
    stage.known("cups")
    stage.page.go("#/stream/cups/groups/wash")
    stage.page.see("Reset…")
    stage.tab_to("Reset…")
    stage.press(Keys.ENTER)
    assert stage.name() == "To an ID, a time, start or end"
    stage.press(Keys.ESCAPE)
    stage.no_dialog()
    assert stage.name() == "Reset…"
    stage.press(Keys.ENTER, "start", Keys.ENTER)
    stage.page.see("1 entry is given again")
    assert stage.client.xinfo_groups("cups")[0]["last-delivered-id"] != b"0-0"
    stage.press(Keys.ENTER)
    stage.page.see("The group was moved")
    wait_until("the focus is back", lambda: stage.name() == "Reset…")


def test_what_a_dialog_is_refused_is_said_inside_of_it(stage: Stage) -> None:
    stage.page.go("#/stream/orders/groups/billing")
    stage.page.click("button", "Reset…")
    stage.page.fill("dialog input[name=to]", "yesterday, perhaps")
    stage.press(Keys.ENTER)
    assert stage.page.find("dialog [role=alert]").text
    stage.press(Keys.ESCAPE)


def test_the_focus_stays_while_figures_change(stage: Stage) -> None:
    stage.client.xadd("plates", {"n": 1})
    stage.known("plates")
    stage.page.go("#/?search=plates")
    stage.page.see("plates")
    stage.tab_to("plates")
    stage.client.xadd("plates", {"n": 2})
    entries = stage.page.find("td[data-label=Entries]")
    wait_until("both are counted", lambda: entries.text == "2")
    assert stage.name() == "plates"


def test_keys_search_step_and_go(stage: Stage) -> None:
    page = stage.page
    page.go("#/server")
    page.see("Settings")
    stage.press("/")
    wait_until("the search has the focus", lambda: stage.name() == "Search streams")
    stage.press("orders")
    wait_until("it is in the address", lambda: "search=orders" in page.driver.current_url)
    page.see("orders")
    assert stage.name() == "Search streams"
    stage.press(Keys.TAB, "j")
    assert stage.name() == "orders"
    stage.press("g", "d")
    page.see("Workers bury them")
    stage.press("?")
    page.see("Row before")
    stage.press(Keys.ESCAPE)
    stage.no_dialog()


def test_keys_can_be_turned_off(stage: Stage) -> None:
    stage.page.go("#/dead")
    stage.page.see("payments:dead")
    stage.page.driver.execute_script("localStorage.setItem('keys', 'off')")
    try:
        stage.press("?", "g", "s")
        assert not stage.page.driver.find_elements("css selector", "dialog")
        assert stage.page.driver.current_url.endswith("#/dead")
    finally:
        stage.page.driver.execute_script("localStorage.removeItem('keys')")


def test_the_link_to_the_content_skips_the_head(stage: Stage) -> None:
    stage.page.go("#/dead")
    stage.page.see("payments:dead")
    stage.page.driver.execute_script("document.querySelector('.skip').focus()")
    stage.press(Keys.ENTER)
    assert stage.focused().get_attribute("id") == "content"
    assert stage.page.driver.current_url.endswith("#/dead")
