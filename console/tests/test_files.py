"""Export and import: an exported file imports byte for byte; bad lines are refused by number."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.tests.conftest import Scene
from testkit.browser import Chromium

ENTRIES: tuple[tuple[bytes, ...], ...] = (
    (b"item", b"tea", b"price", b"3.20"),
    (b"item", b"", b"item", b"twice"),
    (b"\xff\x00", b"\x80binary"),
    ("größe".encode(), b'comma, "quote"\nline'),
    (b"id", b"not the ID", b"_more", b"[]"),
    (b"body", b"x" * 100_000),
)


def fill(scene: Scene) -> None:
    for number, words in enumerate(ENTRIES, 1):
        scene.client.execute_command("XADD", "orders", f"{number}-7", *words)


def held(scene: Scene, stream: str, kind: str) -> list[tuple[bytes, list[tuple[bytes, bytes]]]]:
    """The entries of a stream; a file of columns does not keep the order of fields."""
    with scene.server.client() as client:
        rows = client("XRANGE", stream, "-", "+")
    pairs = [(one, list(zip(words[::2], words[1::2], strict=True))) for one, words in rows]
    return [(one, sorted(fields)) for one, fields in pairs] if kind == "csv" else pairs


@pytest.mark.parametrize("kind", ["ndjson", "csv"])
def test_what_was_exported_is_imported_to_the_byte(scene: Scene, kind: str) -> None:
    fill(scene)
    found = scene.asker.get(f"/streams/orders/export?kind={kind}&order=oldest")
    assert (found["entries"], found["next"]) == (len(ENTRIES), None)
    body = {"kind": kind, "text": found["text"], "ids": "keep"}
    preview = scene.asker.post("/streams/copy/import-preview", body)
    assert (preview["entries"], preview["first"][0]["id"]) == (len(ENTRIES), "1-7")
    assert scene.client.exists("copy") == 0
    assert scene.asker.post("/streams/copy/import", body) == {"added": len(ENTRIES)}
    assert held(scene, "copy", kind) == held(scene, "orders", kind)
    assert scene.asker.post("/streams/copy/import", body | {"ids": "new"})["added"] == len(ENTRIES)
    assert scene.client.xlen("copy") == 2 * len(ENTRIES)


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("ndjson", '{"a": 1}\n{"a": 2}\nnot json\n', "line 3 of the file: no JSON"),
        ("ndjson", '{"a": 1}\n[]\n', "line 2 of the file: no object"),
        ("ndjson", '{"id": "1-0", "fields": {}}\n', "line 1 of the file: no fields"),
        ("ndjson", '{"id": "1-0", "fields": [["a"]]}\n', "line 1 of the file"),
        ("ndjson", '{"a": {"base64": "?"}}\n', "line 1 of the file: a base64 that is not valid"),
        ("ndjson", "", "has no entries"),
        ("ndjson", '{"a": ' + "[" * 50_000 + "\n", "the file"),
        ("csv", "id,a\n1-0,x\n2-0,x,y\n", "line 3 of the file: 3 cells"),
        ("csv", "id,a,_more\n1-0,x,{\n", "line 2 of the file: _more holds no JSON"),
        ("csv", "id,a\n", "has no entries"),
    ],
)
def test_a_bad_line_is_refused_with_its_number_and_nothing_is_added(
    scene: Scene, kind: str, text: str, words: str
) -> None:
    for action in ("import", "import-preview"):
        body = {"kind": kind, "text": text, "ids": "new"}
        status, found = scene.asker.ask("POST", f"/streams/orders/{action}", body)
        assert (status, words in found["error"]) == (400, True), found
    assert scene.client.exists("orders") == 0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["5-0", "4-0"], "entry 2 of the file has the ID 4-0, which must be greater than 5-0"),
        (["2-0"], "entry 1 of the file has the ID 2-0, which must be greater than 3-0"),
        (["soon"], "is not an ID"),
        (["99999999999999999999-0"], "is not an ID"),
    ],
)
def test_ids_that_the_stream_would_not_take_are_refused_before(
    scene: Scene, lines: list[str], words: str
) -> None:
    scene.client.xadd("orders", {"n": 1}, id="3-0")
    text = "".join(f'{{"id": "{one}", "fields": {{"n": 1}}}}\n' for one in lines)
    body = {"kind": "ndjson", "text": text, "ids": "keep"}
    status, found = scene.asker.ask("POST", "/streams/orders/import", body)
    assert (status, words in found["error"]) == (400, True), found
    assert scene.client.xlen("orders") == 1


def test_a_file_that_is_too_large_is_refused(scene: Scene) -> None:
    body = {"kind": "csv", "text": "a\n" + "x" * (9 << 20), "ids": "new"}
    status, found = scene.asker.ask("POST", "/streams/orders/import", body)
    assert (status, "forebay copy" in found["error"]) == (400, True)


def test_an_export_ends_where_an_answer_is_full(scene: Scene) -> None:
    for number in range(1, 9):
        scene.client.xadd("big", {"body": "x" * (1 << 20)}, id=f"{number}-0")
    found = scene.asker.get("/streams/big/export?order=oldest")
    assert 0 < found["entries"] < 8
    assert found["next"] == f"({found['entries']}-0"


@pytest.mark.one_server
def test_a_file_is_chosen_looked_at_and_imported_in_the_page(
    scene: Scene, browser: Chromium, tmp_path: Path
) -> None:
    scene.client.xadd("orders", {"n": "first"})
    path = tmp_path / "more.csv"
    path.write_text("item,price\ntea,3.20\nmilk,1.10\n")
    with browser.page(scene.asker.port) as page:
        page.go("#/stream/orders")
        page.click("button", "Import…")
        page.find("dialog input[type=file]").send_keys(str(path))
        page.click("dialog button.main", "Show what will happen")
        page.see("2 entries would be added", "item=tea price=3.20")
        assert scene.client.xlen("orders") == 1
        page.click("dialog button.main", "Import")
        page.see("2 entries added", "milk")
        assert page.complaints() == []
    assert scene.client.xlen("orders") == 3
