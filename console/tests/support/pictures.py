"""Pictures of the console for the pages: a browser looks at a shop that is open.

    make pictures         writes the pictures that docs/pictures keeps

The shop has an hour of history, customers who order while the pictures are taken, workers that
keep up and one group that does not, and payments that failed.  Curves over time need
a moment: the longer the shop is open, the longer they are.
"""

from __future__ import annotations

import json
import linecache
import math
import random
import tempfile
import threading
import time
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import redis

from forebay_workers.message import Message
from forebay_workers.settle.letters import write
from testkit.browser import Browser, chromium
from testkit.consoles import console
from testkit.places import ROOT
from testkit.servers import start_forebay
from testkit.waiting import wait_until

FOLDER = ROOT / "docs" / "pictures"
#: As long as the small curves of the overview are.
OPEN_S = 300.0
WIDE_PX, QUALITY = 1280, 82
HOURS = 1
HOUR_MS = 3_600_000
TICK_S = 0.25
CUSTOMERS = ("ann", "bob", "cleo", "dan", "eve", "finn")
GOODS = (("tea", 320), ("coffee", 410), ("honey", 690), ("rusks", 240), ("jam", 450))
PAGES = ("/", "/tea", "/coffee", "/cart", "/pay")
#: How many entries are added each second.
STREAMS = {
    "clicks": 18.0,
    "emails": 2.4,
    "invoices": 3.6,
    "orders": 6.0,
    "payments": 5.1,
    "returns": 0.3,
    "sensors:hall-1": 3.0,
    "sensors:hall-2": 3.0,
    "shipments": 4.2,
    "stock": 1.5,
}
#: Groups, how many entries each has left unread, and how many it takes each second.
GROUPS = {
    ("clicks", "funnel"): (60, 20.0),
    ("emails", "outbox"): (12, 3.0),
    ("invoices", "ledger"): (0, 20.0),
    ("orders", "billing"): (0, 20.0),
    ("orders", "shipping"): (240, 5.6),
    ("payments", "ledger"): (0, 20.0),
    ("returns", "refunds"): (3, 0.3),
    ("sensors:hall-1", "alarms"): (0, 20.0),
    ("sensors:hall-2", "alarms"): (0, 20.0),
    ("shipments", "tracking"): (0, 20.0),
}
#: The worker that fails, as its traceback shows it.
PROGRAM = """\
def pay(payment):
    amount = cents(payment["amount"])
    account = accounts[payment["customer"]]
    account.charge(amount)

def cents(text):
    return round(float(text) * 100)
"""


class View(NamedTuple):
    """A picture: an address, words that appear when the page is complete, and light or dark."""

    address: str
    words: tuple[str, ...]
    scheme: str = "light"
    high_px: int = 800


VIEWS = {
    "overview": View("#/", ("orders", "sensors:hall-2"), high_px=720),
    "stream": View("#/stream/orders", ("customer", "Export")),
    "group": View(
        "#/stream/orders/groups/shipping", ("Lag, entries", "Pending entries", "truck-1")
    ),
    "dead-letter": View(
        "#/dead/payments%3Adead/{letter}", ("Traceback", "could not convert"), "dark", 590
    ),
    "server": View("#/server", ("Acknowledged", "Settings")),
}
#: The pictures that the pages show; pictures are not text, so few of them are kept.
KEPT = ("overview", "stream", "group", "dead-letter")


class Shop:
    """Customers and workers on a server."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        self.dice = random.Random(7)
        self.count = self.ticks = 0

    def entry(self, stream: str) -> dict[str, str]:
        """One more entry of a stream."""
        self.count += 1
        name, (item, cents) = self.dice.choice(CUSTOMERS), self.dice.choice(GOODS)
        if stream == "orders":
            order = {"id": self.count, "items": [{"item": item, "n": self.dice.randint(1, 4)}]}
            return {"customer": name, "cents": str(cents), "order": json.dumps(order)}
        if stream == "clicks":
            return {"page": self.dice.choice(PAGES), "ms": str(self.dice.randint(8, 400))}
        if stream.startswith("sensors"):
            return {"celsius": f"{self.dice.gauss(19, 1.5):.1f}"}
        return {"customer": name, "item": item, "amount": f"{cents / 100:.2f}"}

    def look_back(self, now_ms: int, share: float) -> None:
        """Make an hour of history: busy and quiet times, one rush, and some failures."""
        for stream, rate in STREAMS.items():
            pipeline = self.client.pipeline(transaction=False)
            length = round(rate * HOURS * 3600 * share)
            for at_ms in sorted(self.moment(now_ms) for _ in range(length)):
                pipeline.execute_command("XADD", stream, f"{at_ms}-*", *flat(self.entry(stream)))
            pipeline.execute()
        for (stream, group), (unread, _) in GROUPS.items():
            self.client.xgroup_create(stream, group, "0")
            count = max(1, self.client.xlen(stream) - unread)
            self.client.xreadgroup(group, f"{group}-1", {stream: ">"}, count=count, noack=True)
        self.leave_pending()
        for number in reversed(range(11)):
            self.fail(now_ms - number * 290_000 - 41_000, "2.40" if number % 3 == 1 else "4,10")

    def moment(self, now_ms: int) -> int:
        """A time in the past: waves, and a rush half an hour ago."""
        while True:
            hours = self.dice.uniform(0.002, HOURS)
            height = 0.45 + 0.25 * math.sin(hours * 11) + math.exp(-(((hours - 0.45) / 0.05) ** 2))
            if self.dice.uniform(0, 1.7) < height:
                return now_ms - round(hours * HOUR_MS)

    def take(self, stream: str, group: str, count: int) -> None:
        """A group reads and acknowledges."""
        name = f"{group}-{self.dice.randint(1, 3)}"
        ids = self.read(stream, group, name, count)
        if ids:
            self.client.xack(stream, group, *ids)

    def read(self, stream: str, group: str, name: str, count: int) -> list[Any]:
        """A consumer reads entries; returns their IDs."""
        found: Any = self.client.xreadgroup(group, name, {stream: ">"}, count=count)
        return [entry_id for _, entries in found or [] for entry_id, _ in entries]

    def leave_pending(self) -> None:
        """Three trucks with parcels on board, some since long ago and after several attempts."""
        for number, truck in enumerate(("truck-1", "truck-2", "van")):
            for at, entry_id in enumerate(self.read("orders", "shipping", truck, 24)):
                idle_ms = (2000, 30_000, 200_000, 1_500_000, 9_000_000)[at % (number + 3)]
                tries = (1, 1, 1, 2, 3, 6)[at % 6]
                self.client.xclaim(
                    *("orders", "shipping", truck, 0, [entry_id]), idle=idle_ms, retrycount=tries
                )

    def fail(self, at_ms: int, amount: str) -> None:
        """A payment becomes a dead letter."""
        payment = {**self.entry("payments"), "amount": amount}
        fields = [part.encode() for part in flat(payment)]
        message = Message("payments", b"%d-0" % (at_ms - 61_000), fields, starts=5)
        message.first_ms = at_ms - 61_000
        letter = write(message, failure(payment), "ledger", "ledger-2", at_ms)
        self.client.execute_command("XADD", "payments:dead", at_ms, *letter)

    def serve(self) -> None:
        """A tick of an open shop, busier now than half a minute ago."""
        self.ticks += 1
        wave = (
            1 + 0.5 * math.sin(self.ticks * TICK_S / 9) + 0.3 * math.sin(self.ticks * TICK_S / 31)
        )
        for stream, rate in STREAMS.items():
            for _ in range(self.whole(rate * wave * TICK_S)):
                self.client.xadd(stream, self.entry(stream))  # type: ignore[arg-type]
        for (stream, group), (_, rate) in GROUPS.items():
            count = self.whole(rate * TICK_S)
            if count:
                self.take(stream, group, count)

    def whole(self, number: float) -> int:
        """A random whole number whose average is this value."""
        return int(number + self.dice.random())


def flat(fields: dict[str, str]) -> list[str]:
    """Names and values in turn."""
    return [part for pair in fields.items() for part in pair]


def failure(payment: dict[str, str]) -> Exception:
    """The worker's exception, with the lines of its program."""
    name = "shop/payments.py"
    linecache.cache[name] = (len(PROGRAM), None, PROGRAM.splitlines(keepends=True), name)
    known: dict[str, object] = {"accounts": {}}
    exec(compile(PROGRAM, name, "exec"), known)
    try:
        known["pay"](payment)  # type: ignore[operator]
    except (KeyError, ValueError) as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        return error
    raise AssertionError("the payment went well")


@contextmanager
def kept_open(shop: Shop) -> Iterator[threading.Event]:
    """Run customers and workers in the background; the event closes the shop."""
    closed = threading.Event()

    def work() -> None:
        while not closed.wait(TICK_S):
            shop.serve()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield closed
    finally:
        closed.set()
        thread.join()


def take_pictures(folder: Path, names: Iterable[str], open_s: float, share: float = 1.0) -> None:
    """Open the shop, with a share of its history, and put a picture of each view into a folder."""
    with tempfile.TemporaryDirectory(prefix="fb-") as home:
        server = start_forebay(Path(home))
        try:
            with redis.Redis(port=server.port) as client:
                shop = Shop(client)
                shop.look_back(int(time.time() * 1000), share)
                url = f"redis://127.0.0.1:{server.port}"
                with (
                    console(url, "--write") as asker,
                    chromium() as browser,
                    browser.page(asker.port) as page,
                ):
                    asker.enter()
                    most = len(STREAMS)
                    wait_until("all is known", lambda: asker.get("/streams")["total"] > most)
                    with kept_open(shop) as closed:
                        page.go("#/")
                        closed.wait(open_s)
                        for name in names:
                            (folder / f"{name}.webp").write_bytes(picture(page, shop, VIEWS[name]))
                    assert page.complaints() == []
        finally:
            server.stop()


def picture(page: Browser, shop: Shop, view: View) -> bytes:
    """The view as it is on a screen."""
    run = page.driver.execute_cdp_cmd
    light = [{"name": "prefers-color-scheme", "value": view.scheme}]
    run("Emulation.setEmulatedMedia", {"features": light})
    size = {"width": WIDE_PX, "height": view.high_px, "deviceScaleFactor": 1, "mobile": False}
    run("Emulation.setDeviceMetricsOverride", size)
    run("Emulation.setScrollbarsHidden", {"hidden": True})
    ((letter, _),) = cast(Any, shop.client.xrevrange("payments:dead", count=1))
    page.go(view.address.format(letter=letter.decode()))
    page.see(*view.words)
    taken = run("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    return b64decode(taken["data"])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    take_pictures(FOLDER, KEPT, OPEN_S)
