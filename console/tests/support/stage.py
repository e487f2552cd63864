"""A server with a little of everything, its console and a browser, shared by the tests of the page.

A test that changes something uses its own stream.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import redis
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from console.tests.support.letters import bury
from testkit.browser import Browser, chromium
from testkit.consoles import Asker, console
from testkit.servers import start_forebay
from testkit.waiting import wait_until

MOST_TABS = 80


class Stage:
    """A user who looks at a page and has a keyboard."""

    def __init__(self, client: redis.Redis, asker: Asker, page: Browser) -> None:
        self.client = client
        self.asker = asker
        self.page = page

    def known(self, stream: str) -> None:
        """Wait until the console knows a stream."""
        wait_until(
            f"{stream} is known", lambda: self.asker.get(f"/streams?search={stream}")["total"]
        )

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, at the element that has the focus."""
        for key in keys:
            ActionChains(self.page.driver).send_keys(key).perform()

    def press_with(self, held: str, *keys: str) -> None:
        """Press keys while another one is held."""
        hands = ActionChains(self.page.driver).key_down(held)
        for key in keys:
            hands.send_keys(key)
        hands.key_up(held).perform()

    def no_dialog(self) -> None:
        """Wait until no dialog is open."""
        found = self.page.driver.find_elements
        wait_until("no dialog is open", lambda: not found("css selector", "dialog"))

    def focused(self) -> WebElement:
        """The element that has the focus."""
        return self.page.driver.switch_to.active_element

    def tab_to(self, name: str) -> None:
        """Press Tab until an element whose name begins like this has the focus."""
        for _ in range(MOST_TABS):
            self.press(Keys.TAB)
            if self.name().startswith(name):
                return
        raise AssertionError(f"Tab does not come to {name}:\n{self.page.text()}")

    def name(self) -> str:
        """The name that a screen reader would give the focused element."""
        return str(self.focused().accessible_name)


def fill(client: redis.Redis) -> None:
    """A little of everything that the views show."""
    order = json.dumps({"customer": "ann", "items": [{"sku": "tea", "n": 2}], "paid": True})
    now_s, _ = client.time()
    for number in range(8):
        fields = {"order": order, "cents": str(number * 100), "bytes": b"\xff\xfe"}
        entry_id = f"{(now_s - 60 + number) * 1000}-0"
        client.execute_command("XADD", "orders", entry_id, *chain(*fields.items()))
    client.xgroup_create("orders", "billing", "0")
    client.xreadgroup("billing", "worker-1", {"orders": ">"}, count=5)
    bury(
        client, "payments", ValueError("no price for '3,20'"), [b"item", b"tea", b"price", b"3,20"]
    )
    batch = {"batch": "1", "rows_per_s": "12", "lag_entries": "3"}
    for told in (
        {"pipeline": "archive", "event": "batch", **batch},
        {"pipeline": "hourly", "event": "failed", "text": "no column h"},
    ):
        client.execute_command("XADD", "forebay:pipelines", "*", *chain(*told.items()))


@contextmanager
def stage(root: Path) -> Iterator[Stage]:
    """All of it, until the tests are over."""
    server = start_forebay(Path(tempfile.mkdtemp(dir=root)))
    try:
        client = redis.Redis(port=server.port)
        fill(client)
        with (
            console(f"redis://127.0.0.1:{server.port}", "--write") as asker,
            chromium() as browser,
            browser.page(asker.port) as page,
        ):
            asker.enter()
            found = Stage(client, asker, page)
            found.known("payments:dead")
            yield found
        client.close()
    finally:
        server.stop()
