"""Strange input: names and values of any bytes and any size, keys of other types, broken addresses.

Sent through the API as raw bytes, and through the address bar of a real browser.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

import pytest

from console.tests.conftest import Scene
from testkit.browser import Chromium
from testkit.consoles import Asker, key
from testkit.servers import environment
from testkit.waiting import wait_until

NAMES = (
    b"a/b",
    b"..",
    b"../../etc/passwd",
    b".",
    b"%2e%2e",
    b"with space",
    b"quote'\"`",
    b"line\nfeed\r\ttab",
    b"\x00\x01\x7f",
    b"\xff\xfe not text",
    "größe 大".encode(),
    b"?a=b&c#d;e",
    b"\\backslash",
    b"<b>bold</b>",
    b"x" * 2000,
)
BIG = 10 << 20


def test_a_stream_of_any_name_can_be_read_and_changed(scene: Scene) -> None:
    for name in NAMES:
        scene.client.xadd(name, {"n": 1}, id="1-0")
        scene.client.xgroup_create(name, name, 0)
    ask = scene.asker
    wait_until("all are known", lambda: ask.get("/streams?search=*")["total"] == len(NAMES))
    rows = {row["key"]: row for row in ask.get("/streams?search=*&count=100")["streams"]}
    assert set(rows) == {key(name) for name in NAMES}
    for name in NAMES:
        path = f"/streams/{key(name)}"
        assert ask.get(path)["length"] == 1, name
        assert ask.get(f"{path}/entries")["entries"][0]["id"] == "1-0", name
        assert ask.get(f"{path}/groups/{key(name)}/pending")["pending"] == [], name
        assert ask.post(f"{path}/entries", {"fields": [["n", "2"]], "id": "2-0"})["id"] == "2-0"
        assert scene.client.xlen(name) == 2, name


@pytest.mark.one_server
def test_the_address_bar_takes_any_name(scene: Scene, browser: Chromium) -> None:
    for name in NAMES:
        scene.client.xadd(name, {"mark": "found me"}, id="1-0")
    wait_until(
        "all are known",
        lambda: scene.asker.get("/streams?search=*")["total"] == len(NAMES),
    )
    with browser.page(scene.asker.port) as page:
        for name in NAMES:
            page.go(f"#/stream/{key(name)}")
            page.see("found me")
        assert page.complaints() == []


ADDRESSES = {
    "#/stream/nothing": "there is no stream nothing",
    "#/stream/%E0%A4%A": "there is no stream",
    "#/stream/%zz": "there is no stream %zz",
    "#/nowhere/at/all": "Streams",
    "#/stream/words": "is a string and no stream",
    "#/stream/numbers/entries": "is a list and no stream",
    "#/stream/orders/entries?from=soon": "'soon'",
    "#/stream/orders/groups/nobody": "no group nobody",
    "#/stream/orders/sideways": "orders",
    "#/dead/orders/1-0": "there is no letter",
    "#/?sort=sideways": "sort must be one of",
    "#////": "Streams",
}


@pytest.mark.one_server
def test_a_broken_address_is_told_in_words(scene: Scene, browser: Chromium) -> None:
    scene.client.set("words", "text")
    scene.client.rpush("numbers", 1, 2)
    scene.client.xadd("orders", {"n": 1})
    with browser.page(scene.asker.port) as page:
        for address, words in ADDRESSES.items():
            page.go(address)
            page.see(words)
        assert not [line for line in page.complaints() if "Uncaught" in line]


def test_keys_of_other_types_are_no_streams_wherever_they_are_asked_for(scene: Scene) -> None:
    scene.client.set("words", "text")
    scene.client.rpush("numbers", 1, 2)
    scene.client.sadd("bag", 1)
    for name, kind in (("words", "string"), ("numbers", "list"), ("bag", "set")):
        for path in (
            *("", "/entries", "/entries/1-0", "/histogram", "/pins"),
            *("/groups/g/consumers", "/groups/g/pending", "/groups/g/pending-bars"),
        ):
            status, found = scene.asker.ask("GET", f"/streams/{name}{path}")
            assert (status, f"is a {kind} and no stream" in found["error"]) == (409, True), path
        body = {"fields": [["a", "b"]]}
        assert scene.asker.ask("POST", f"/streams/{name}/entries", body)[0] == 409
    assert scene.asker.get("/streams?search=*")["total"] == 0


def test_entries_of_ten_megabytes_are_shown_in_bounded_memory(scene: Scene) -> None:
    for number in range(12):
        scene.client.xadd("big", {b"\xff" * 3000: b"\x00\xff" * (BIG // 2), "n": number})
    before = peak_bytes(scene.asker)
    for _ in range(4):
        for order in ("newest", "oldest"):
            answer = scene.asker.request("GET", f"/api/streams/big/entries?order={order}")
            assert answer.status == 200
            assert len(answer.data) < 200_000
    found = scene.asker.get("/streams/big/entries?count=1")["entries"][0]
    name, value = found["fields"][0]
    assert (name["bytes"], value["bytes"]) == (3000, BIG)
    whole = scene.asker.request("GET", f"/api/streams/big/entries/{found['id']}")
    assert len(whole.data) < 1_000_000
    assert peak_bytes(scene.asker) - before < 12 * BIG, "a page holds a few of them, not all"


def peak_bytes(asker: Asker) -> int:
    """The most memory that the console has had."""
    lines = Path(f"/proc/{asker.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


@pytest.mark.parametrize(
    "line",
    [
        b"GET /api/streams/\xff\xfe/entries HTTP/1.1",
        b"GET /api/streams/%/entries HTTP/1.1",
        b"GET /api/streams/%2 HTTP/1.1",
        b"GET /api/streams//entries HTTP/1.1",
        b"GET /api/streams/../../etc/passwd HTTP/1.1",
        b"GET /page/../web/app.py HTTP/1.1",
        b"GET /page/%2e%2e/web/app.py HTTP/1.1",
        b"GET /page/..%2fweb%2fapp.py HTTP/1.1",
        b"GET /api/streams?count=-1 HTTP/1.1",
        b"GET /api/streams?count=999999999999999999999 HTTP/1.1",
        b"GET /api/streams?start=%D9%A3 HTTP/1.1",
        b"GET /api/streams?search=%FF%00 HTTP/1.1",
        b"GET /api/streams?search=[ HTTP/1.1",
        b"PUT /api/streams HTTP/1.1",
        b"GET /api/nothing HTTP/1.1",
        b"POST /api/session HTTP/1.1",
    ],
)
def test_a_request_that_makes_no_sense_is_refused_or_answered(scene: Scene, line: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", scene.asker.port, timeout=20)
    connection.connect()
    assert connection.sock is not None
    cookie = scene.asker.cookie.encode()
    connection.sock.sendall(
        line + b"\r\nHost: localhost\r\nCookie: " + cookie + b"\r\nConnection: close\r\n\r\n"
    )
    answer = b"".join(iter(lambda: connection.sock.recv(65536), b""))
    connection.close()
    status = int(answer.split()[1])
    assert status in (200, 400, 401, 404, 405), answer[:300]
    assert b"Traceback" not in answer and b"class Console" not in answer
    assert scene.asker.ask("GET", "/streams")[0] == 200


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org", "redis://"),
        ("redis://127.0.0.1:notaport", "port"),
        ("redis://127.0.0.1:99999999", "port"),
        ("redis://127.0.0.1/notadatabase", "database"),
    ],
)
def test_a_broken_url_of_the_server_is_one_sentence(url: str, words: str) -> None:
    command = [sys.executable, "-m", "forebay", "console", "--port", "0", "--url", url]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=environment(), check=False
    )
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr
