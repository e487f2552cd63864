"""The address bar says what is on the screen, going back works, and a tail waits for its reader."""

from __future__ import annotations

from selenium.webdriver.common.keys import Keys

from console.tests.support.stage import Stage
from testkit.waiting import wait_until


def test_filters_and_order_are_in_the_address_and_the_way_back(stage: Stage) -> None:
    page = stage.page
    # In different milliseconds: else there is no histogram, which says how many there are.
    ids = [
        stage.client.xadd("jars", {"n": n, "jam": "plum" if n % 2 else "fig"}, f"{1000 * n}-1")
        for n in range(1, 5)
    ]
    stage.known("jars")
    page.go("#/stream/jars")
    page.see("4 entries")
    page.fill("#by-field", "jam")
    stage.press(Keys.ENTER)
    wait_until("the field is there", lambda: "field=jam" in page.driver.current_url)
    page.fill("#by-value", "plum")
    stage.press(Keys.ENTER)
    wait_until("so is the value", lambda: "value=plum" in page.driver.current_url)
    wait_until("figs are not shown", lambda: rows(stage) == [ids[2].decode(), ids[0].decode()])
    page.click("#by-order option", "oldest first")
    wait_until("they are turned", lambda: rows(stage) == [ids[0].decode(), ids[2].decode()])
    shared = page.driver.current_url
    page.driver.back()
    wait_until("the old order", lambda: rows(stage) == [ids[2].decode(), ids[0].decode()])
    page.driver.back()
    page.driver.back()
    wait_until("all are back", lambda: len(rows(stage)) == 4)
    page.driver.forward()
    wait_until("the field is back", lambda: page.find("#by-field").get_attribute("value") == "jam")
    page.driver.get("about:blank")
    page.driver.get(shared)
    wait_until("the link shows it", lambda: rows(stage) == [ids[0].decode(), ids[2].decode()])


def rows(stage: Stage) -> list[str]:
    found = stage.page.driver.find_elements("css selector", "tr.entry button.link")
    return [one.text.lstrip("▸▾ ") for one in found]


def test_one_step_back_leaves_a_search_that_was_typed(stage: Stage) -> None:
    page = stage.page
    page.go("#/dead")
    page.see("payments:dead")
    page.click("#top nav a", "Streams")
    page.find("input[type=search]").click()
    for letter in "orders":
        stage.press(letter)
    wait_until("it is in the address", lambda: "search=orders" in page.driver.current_url)
    page.driver.back()
    page.see("failed on every attempt")


def test_a_range_drawn_in_the_bars_is_in_the_address(stage: Stage) -> None:
    page = stage.page
    for ms in range(0, 100_000, 1000):
        stage.client.xadd("lids", {"n": 1}, id=f"{1794900000000 + ms}-0")
    stage.known("lids")
    page.go("#/stream/lids")
    page.see("100 entries")
    page.drag(".histogram", 0.25, 0.5)
    wait_until("a range is in the address", lambda: "from=17949000" in page.driver.current_url)
    wait_until("a quarter is shown", lambda: 24 <= len(rows(stage)) <= 27)
    page.click("button", "Show all")
    wait_until("no range", lambda: "from=" not in page.driver.current_url)


def test_a_tail_waits_while_its_reader_is_further_down(stage: Stage) -> None:
    page = stage.page
    for number in range(60):
        stage.client.xadd("pans", {"n": f"old {number}"})
    stage.known("pans")
    page.go("#/stream/pans?tail=1")
    page.see("Live: waiting for entries", "old 59")
    wait_until(
        "the reader waits at the server", lambda: stage.client.info("clients")["blocked_clients"]
    )
    page.driver.execute_script("scrollTo(0, 1500)")
    before = page.find("tr.entry button.link").text
    stage.client.xadd("pans", {"n": "new 1"})
    page.see("Paused while you read: 1 new entry")
    assert page.driver.find_elements("css selector", "tr.entry button.link")[0].text == before
    page.driver.execute_script("scrollTo(0, 0)")
    page.see("new 1")
    page.click("tr.entry button.link")
    page.see("Copy as Python")
    stage.client.xadd("pans", {"n": "new 2"})
    page.see("Paused while you read: 1 new entry")
    page.click("button", "Show them")
    page.see("new 2")
    assert "Copy as Python" not in page.text()


def test_a_page_that_came_only_in_part_is_loaded_again(stage: Stage) -> None:
    page = stage.page
    page.driver.execute_cdp_cmd("Network.enable", {})
    page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*/page/values.js"]})
    try:
        page.go("#/dead")
        page.see("could not be loaded completely")
    finally:
        page.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": []})
        page.driver.execute_cdp_cmd("Network.disable", {})
    page.see("failed on every attempt")
