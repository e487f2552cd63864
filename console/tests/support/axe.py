"""axe checks the page as it is drawn: names, roles, contrast, what a keyboard can reach.

Its script is in a package from PyPI, so no npm is needed. The driver puts it into the page
past the content policy, which forbids other scripts.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, NamedTuple

from testkit.browser import Browser

SCRIPT = (files("selenium_axe_python") / "axe-core" / "axe.min.js").read_text("utf-8")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
CONTRAST = ("color-contrast",)
RUN = """
const [rules, done] = arguments;
const asked = axe.run(document, {runOnly: rules, resultTypes: ["violations"]});
asked.then((found) => done(found.violations));
"""
SIDEWAYS = "const e = document.documentElement; return e.scrollWidth - e.clientWidth"


class Look(NamedTuple):
    """A screen, and the preferences of its owner."""

    width: int
    height: int
    scheme: str = "light"
    scale: int = 1
    motion: str = "no-preference"


DESK = Look(1400, 900)
DARK = Look(1400, 900, "dark")
TABLET = Look(1024, 768)
PHONE = Look(390, 844, "dark", 2)
#: The desk at 200 %: half as many pixels, each twice as large.
ZOOMED = Look(700, 450, "light", 2)


def look_as(page: Browser, look: Look) -> None:
    """Show the page on another screen."""
    size = {"width": look.width, "height": look.height, "deviceScaleFactor": look.scale}
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {**size, "mobile": look.width < 500}
    )
    liked = {"prefers-color-scheme": look.scheme, "prefers-reduced-motion": look.motion}
    features = [{"name": name, "value": value} for name, value in liked.items()]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def violations(page: Browser, rules: tuple[str, ...] = RULES) -> list[str]:
    """The findings of axe, one line each."""
    if not page.driver.execute_script("return 'axe' in window"):
        page.driver.execute_script(SCRIPT)
    found: list[dict[str, Any]] = page.driver.execute_async_script(RUN, rules)
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found]


def sideways_px(page: Browser) -> int:
    """How far the page can be scrolled to the side."""
    return int(page.driver.execute_script(SIDEWAYS))


def check(page: Browser) -> None:
    """Check the page on every screen, light and dark; the desk is last and stays."""
    for look in (PHONE, ZOOMED, TABLET, DARK, DESK):
        look_as(page, look)
        assert sideways_px(page) <= 0, look
        if look in (PHONE, DESK):
            assert violations(page) == [], look
        elif look == DARK:
            assert violations(page, CONTRAST) == [], look
