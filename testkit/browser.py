"""A real browser without a screen: Debian's Chromium, controlled through its own driver.

    chromium()              a process, for many tests
        .page(port)         a tab of one test: no cookies, nothing in the log

Nothing sleeps: ``see`` waits until the page shows some words; its error says what is shown instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--window-size=1400,1000",
)
PATIENCE_S = 60.0
#: Chromium's messages when another test makes or cuts a network of this machine.
NOT_THE_PAGE = "ERR_NETWORK_CHANGED"


class Browser:
    """A page, as a person sees and uses it."""

    def __init__(self, driver: webdriver.Chrome, port: int) -> None:
        self.driver = driver
        self._home = f"http://127.0.0.1:{port}/"

    def go(self, address: str) -> None:
        """Open an address of the console, as in the address bar: a page that is open stays."""
        self.driver.get(self._home + address)

    def leave(self) -> None:
        """Forget the page; the next address is loaded from the beginning."""
        self.driver.get("about:blank")

    def text(self) -> str:
        """All text of the page, as it is copied; the driver's own way takes fifty times as long."""
        return str(self.driver.execute_script("return document.body.innerText"))

    def see(self, *words: str) -> None:
        """Wait until the page shows all of these words."""
        try:
            self._wait().until(lambda _: all(word in self.text() for word in words))
        except TimeoutException:
            raise AssertionError(f"{words} are not on the page:\n{self.text()}") from None

    def find(self, css: str, text: str = "") -> WebElement:
        """Wait for an element, with a text if one is given."""

        def look(_: object) -> WebElement | None:
            found = self.driver.find_elements(By.CSS_SELECTOR, css)
            return next((one for one in found if text in one.text and one.is_displayed()), None)

        found = self._wait().until(look)
        assert found is not None
        return found

    def click(self, css: str, text: str = "") -> None:
        """Click an element."""
        self._wait().until(lambda _: self._clicked(css, text))

    def _clicked(self, css: str, text: str) -> bool:
        self.find(css, text).click()
        return True

    def fill(self, css: str, value: str) -> None:
        """Write into a field."""
        element = self.find(css)
        element.clear()
        element.send_keys(value)

    def drag(self, css: str, start: float, end: float) -> None:
        """Drag from one place of an element to another, both as fractions of its width."""
        element = self.find(css)
        wide = element.size["width"]
        hand = ActionChains(self.driver).move_to_element_with_offset(
            element, round((start - 0.5) * wide), 0
        )
        hand.click_and_hold().move_by_offset(round((end - start) * wide), 0).release().perform()

    def complaints(self) -> list[str]:
        """The errors that the page wrote to the browser's log."""
        rows: list[dict[str, Any]] = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        said = [str(row["message"]) for row in rows if row["level"] == "SEVERE"]
        return [message for message in said if NOT_THE_PAGE not in message]

    def _wait(self) -> WebDriverWait[webdriver.Chrome]:
        ignored = [StaleElementReferenceException]
        return WebDriverWait(self.driver, PATIENCE_S, 0.05, ignored_exceptions=ignored)


class Chromium:
    """A browser that tests share, one after the other."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self._driver = driver
        self._first = driver.current_window_handle

    @contextmanager
    def page(self, port: int) -> Iterator[Browser]:
        """A tab that knows nothing of earlier tests, until this one is over."""
        found = Browser(self._driver, port)
        self._driver.switch_to.new_window("tab")
        try:
            self._driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
            found.complaints()
            yield found
        finally:
            self._driver.close()
            self._driver.switch_to.window(self._first)


@contextmanager
def chromium() -> Iterator[Chromium]:
    """A browser of its own, until it is not needed any more."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        yield Chromium(driver)
    finally:
        driver.quit()
