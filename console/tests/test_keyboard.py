"""The page without a mouse: keys reach everything, and the focus is where users expect it."""

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
    page.see("failed on every attempt", "teas:dead")
    stage.tab_to("teas:dead")
    stage.press(Keys.ENTER)
    page.see("Letters, newest first", "Came from")
    letter = stage.client.xrange("teas:dead")[0][0].decode()
    page.see(letter)
    stage.tab_to(letter)
    stage.press(Keys.ENTER)
    page.see("Traceback", "ValueError: no price")
    stage.tab_to("price")
    stage.press(Keys.END, *[Keys.BACKSPACE] * 4, "3.20")
    stage.tab_to("Send back as edited")
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
    stage.page.see("1 entry is delivered again")
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
    page.see("failed on every attempt")
    stage.press("?")
    page.see("Previous row")
    stage.press(Keys.ESCAPE)
    stage.no_dialog()


def test_a_range_of_time_is_chosen_with_keys_alone(stage: Stage) -> None:
    page = stage.page
    open_bars(stage, "ticks")
    stage.press(Keys.ARROW_RIGHT)
    assert told(stage) == "2026-11-17 05:20:00.000 to 2026-11-17 05:20:01.984: 2 entries"
    stage.press(Keys.ARROW_RIGHT)
    stage.press_with(Keys.SHIFT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_LEFT)
    chosen = "2026-11-17 05:20:01.984 to 2026-11-17 05:20:05.952: 4 entries"
    assert told(stage) == chosen
    page.see(chosen)
    stage.press(Keys.ENTER)
    wait_until("it is in the address", lambda: page.driver.current_url.endswith(CHOSEN))
    wait_until("its entries are shown", lambda: len(entry_ids(stage)) == 4)
    assert entry_ids(stage) == [f"{START_MS + s * 1000}-0" for s in (5, 4, 3, 2)]
    page.see("4 entries")
    wait_until("the focus is there again", lambda: stage.name().startswith("Range of time: 4"))
    stage.press(Keys.ESCAPE)
    wait_until("all times again", lambda: "from=" not in page.driver.current_url)
    wait_until("with the focus", lambda: stage.name().startswith("Range of time: 120"))


def test_a_range_goes_to_both_ends_and_no_further(stage: Stage) -> None:
    open_bars(stage, "tocks")
    first, last = "2026-11-17 05:20:00.000 to", "to 2026-11-17 05:21:59.040: 2 entries"
    stage.press(Keys.ARROW_LEFT)
    assert told(stage).endswith(last)
    stage.press(Keys.ARROW_RIGHT, Keys.END)
    assert told(stage).endswith(last)
    stage.press(Keys.PAGE_DOWN)
    assert told(stage).endswith("to 2026-11-17 05:21:39.200: 2 entries")
    stage.press(Keys.HOME, Keys.ARROW_LEFT)
    assert told(stage).startswith(first)
    stage.press_with(Keys.SHIFT, Keys.END)
    assert told(stage) == "2026-11-17 05:20:00.000 to 2026-11-17 05:21:59.040: 120 entries"
    stage.press_with(Keys.SHIFT, Keys.HOME, Keys.ARROW_LEFT)
    assert told(stage) == "2026-11-17 05:20:00.000 to 2026-11-17 05:20:01.984: 2 entries"
    address = stage.page.driver.current_url
    stage.press(Keys.ESCAPE)
    assert told(stage) == "no range is chosen"
    stage.press(Keys.ENTER, Keys.ESCAPE)
    assert stage.page.driver.current_url == address


#: The time of the first of 120 entries, a second apart: 2026-11-17 05:20:00.
START_MS = 1794892800000
CHOSEN = f"?from={START_MS + 1984}&to={START_MS + 5951}"


def open_bars(stage: Stage, stream: str) -> None:
    """Press Tab up to the bars of a stream that is made for this test."""
    for number in range(120):
        stage.client.xadd(stream, {"n": number}, id=f"{START_MS + number * 1000}-0")
    stage.known(stream)
    stage.page.go(f"#/stream/{stream}")
    stage.page.see("120 entries")
    stage.tab_to("Range of time: 120 entries from 2026-11-17 05:20:00.000 to")
    stage.page.see("Enter shows its entries")


def told(stage: Stage) -> str:
    """The screen reader's text for the range."""
    return str(stage.focused().get_attribute("aria-valuetext"))


def entry_ids(stage: Stage) -> list[str]:
    found = stage.page.driver.find_elements("css selector", "tr.entry td.id")
    return [cell.text for cell in found]


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
