"""Accessibility on every screen: axe finds nothing, and nothing is outside of the screen."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from console.tests.support.axe import DESK, check, look_as
from console.tests.support.stage import Stage

#: A view, its address, and words that appear when it is complete.
VIEWS = {
    "all streams": ("#/", ["orders", "not acknowledged"]),
    "no such stream": ("#/?search=zebra", ["No stream has zebra"]),
    "entries": ("#/stream/orders", ["8 entries", "Export", "customer"]),
    "groups": ("#/stream/orders/groups", ["billing", "Last delivered"]),
    "one group": (
        "#/stream/orders/groups/billing",
        ["Lag, entries", "Pending entries", "worker-1"],
    ),
    "retention": ("#/stream/orders/keeps", ["5 delivered and not acknowledged", "30 days"]),
    "dead letters": ("#/dead", ["payments:dead"]),
    "kinds of letters": (
        "#/dead/payments%3Adead",
        ["By error", "Letters, newest first", "1794900000000-0"],
    ),
    "pipelines": ("#/pipelines", ["archive", "no column h"]),
    "server": ("#/server", ["Acknowledged", "Slow commands", "Settings"]),
}


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_for_everybody(stage: Stage, view: str) -> None:
    address, words = VIEWS[view]
    stage.page.go(address)
    stage.page.see(*words)
    check(stage.page)
    assert stage.page.driver.title.endswith("Forebay") and stage.page.driver.title != "Forebay"


def test_one_letter_is_for_everybody(stage: Stage) -> None:
    (letter,) = stage.asker.get("/dead/payments%3Adead/letters")["letters"]
    stage.page.go(f"#/dead/payments%3Adead/{letter['id']}")
    stage.page.see("Traceback", "Send back unchanged")
    check(stage.page)


def test_a_range_that_is_chosen_with_keys_is_for_everybody(stage: Stage) -> None:
    stage.page.go("#/stream/orders")
    stage.page.see("8 entries", "Export")
    stage.tab_to("Range of time")
    stage.press(Keys.ARROW_RIGHT)
    check(stage.page)
    focus = "return getComputedStyle(document.activeElement).outlineStyle"
    assert stage.page.driver.execute_script(focus) == "solid"


def test_an_unfolded_entry_is_for_everybody(stage: Stage) -> None:
    stage.page.go("#/stream/orders")
    stage.page.click("tr.entry button.link")
    stage.page.see("Copy as Python")
    check(stage.page)


def test_a_dialog_with_a_preview_is_for_everybody(stage: Stage) -> None:
    stage.page.go("#/stream/orders/groups/billing")
    stage.page.click("button", "Reset…")
    stage.page.fill("dialog input[name=to]", "start")
    stage.page.click("dialog button[type=submit]")
    stage.page.see("5 entries are delivered again")
    check(stage.page)


def test_the_list_of_keys_is_for_everybody(stage: Stage) -> None:
    stage.page.go("#/server")
    stage.page.see("Settings")
    stage.press("?")
    stage.page.see("Previous row")
    check(stage.page)
    stage.press(Keys.ESCAPE)


def test_the_sign_in_is_for_everybody(stage: Stage) -> None:
    stage.page.go("#/")
    stage.page.click("button", "Sign out")
    stage.page.see("Password")
    check(stage.page)


def test_nothing_moves_for_those_who_asked_for_that(stage: Stage) -> None:
    moving = "return document.getAnimations().length"
    stage.page.go("#/stream/orders?tail=1")
    stage.page.see("Live: waiting for entries")
    look_as(stage.page, DESK)
    assert stage.page.driver.execute_script(moving) > 0
    look_as(stage.page, DESK._replace(motion="reduce"))
    assert stage.page.driver.execute_script(moving) == 0
    look_as(stage.page, DESK)
