"""``forebay work``: real processes; probes, kills, reloads, a terminal, mistakes."""

from __future__ import annotations

import os
import re
import select
import signal
import time

import pytest

from testkit.waiting import PATIENCE_S, wait_until
from workers.tests.support.work import Work

pytestmark = pytest.mark.one_server


def test_workers_handle_probes_answer_and_sigterm_ends_all(work: Work) -> None:
    work.start("--workers", "2", "--health", f":{work.port}", "--grace", "5")
    work.ready()
    work.target.add("s", *range(50))
    work.target.client.xadd("s", {"n": "boom"})
    wait_until("handled", lambda: len(work.done()) == 50)
    wait_until("counted", lambda: 'handled_total{stream="s"} 50' in work.get("/metrics")[1])
    wait_until("buried", lambda: 'forebay_worker_dead{stream="s"} 1' in work.get("/metrics")[1])
    assert work.get("/live") == (200, "live\n")
    assert work.get("/nowhere")[0] == 404
    assert len(work.children()) == 2
    assert work.stop() == 0
    assert work.target.pending("s") == []
    assert work.process is not None and work.process.stderr is not None
    said = work.process.stderr.read()
    assert f"forebay: 2 workers are ready: group g on s, at {work.target.url}\n" in said
    assert re.search(
        r"^\S+ \S+ ERROR forebay_workers: s \S+ became a dead letter: ValueError\('boom'\)$",
        said,
        re.MULTILINE,
    )


def test_a_killed_worker_is_started_again(work: Work) -> None:
    work.start("--health", f":{work.port}")
    work.ready()
    (first,) = work.children()
    os.kill(first, signal.SIGKILL)
    wait_until("a new one", lambda: work.children() not in ([], [first]))
    work.ready()
    work.target.add("s", 1)
    wait_until("handled", lambda: work.done())
    assert work.stop() == 0
    assert work.process is not None and work.process.stderr is not None
    assert "a worker ended with code -9; a new one starts in 0.5 s" in work.process.stderr.read()


def test_a_changed_file_is_loaded_anew(work: Work) -> None:
    work.start("--reload", "--health", f":{work.port}")
    work.ready()
    (first,) = work.children()
    work.write("changed")
    wait_until("a new one", lambda: work.children() not in ([], [first]))
    work.target.add("s", 1)
    wait_until("handled by the new code", lambda: work.done("changed"))
    assert work.done() == []
    assert work.stop() == 0
    assert work.process is not None and work.process.stderr is not None
    assert "forebay: a file has changed; the workers start again\n" in work.process.stderr.read()


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("shop", "'shop' does not name an app. Write module:name, as in shop:app."),
        ("nowhere:app", "There is no module 'nowhere' here. Go to its folder, or set PYTHONPATH."),
        ("shop:client", "shop:client is not an App. Name the object that App(...) made."),
        ("broken:app", "broken cannot be imported: ZeroDivisionError('division by zero')"),
        ("needs:app", "needs needs 'not_there', which is not installed."),
        ("empty:app", "The app has no handlers. Decorate a function with @app.on(stream)."),
        ("wrong:app", "The URL 'http://x' has no known scheme."),
    ],
)
def test_a_mistake_is_one_sentence_and_no_restart(work: Work, place: str, sentence: str) -> None:
    head = "from forebay_workers import App\n"
    (work.folder / "broken.py").write_text("1 / 0\n")
    (work.folder / "needs.py").write_text("import not_there\n")
    (work.folder / "empty.py").write_text(head + "app = App()\n")
    handler = "@app.on('s')\ndef f(x: dict): ...\n"
    (work.folder / "wrong.py").write_text(head + "app = App('http://x')\n" + handler)
    process = work.start(place=place)
    assert process.wait(60) == 2
    assert process.stderr is not None
    said = process.stderr.read()
    assert f"forebay: {sentence}" in said
    assert said.count("forebay: ") == 1


def test_wrong_options_are_one_sentence(work: Work) -> None:
    for words, code, sentence in (
        (("--workers", "0"), 2, "--workers must be 1 or more"),
        (
            ("--health", "80x"),
            1,
            "'80x' is not an address for --health. Write :8081 or 0.0.0.0:8081.",
        ),
    ):
        process = work.start(*words)
        assert process.wait(60) == code
        assert process.stderr is not None
        assert process.stderr.read() == f"forebay: {sentence}\n"
        process.stderr.close()


def test_on_a_terminal_what_workers_print_stands_above_the_live_lines(work: Work) -> None:
    shop = (work.folder / "shop.py").read_text()
    printing = shop.replace("if fields", "print('handler has', fields['n'])\n    if fields")
    (work.folder / "shop.py").write_text(printing)
    terminal = Terminal(work.start_on_terminal())
    terminal.read_until("lag 0")
    work.target.add("s", 7)
    work.target.client.xadd("s", {"n": "boom"})
    for wanted in ("handler has 7", "ValueError('boom')", "dead 1"):
        terminal.read_until(wanted)
    assert work.stop() == 0
    os.close(terminal.descriptor)
    # A live line is erased before anything else is printed, and is never in front of it.
    for line in re.split(r"\r?\n|\x1b\[2K", terminal.shown):
        assert not ("lag" in line and ("handler has" in line or "ValueError" in line)), line


class Terminal:
    """Our end of a terminal, and all that it has shown."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.shown = ""

    def read_until(self, wanted: str) -> None:
        """Read until it has shown this."""
        deadline = time.monotonic() + PATIENCE_S
        while wanted not in self.shown:
            assert time.monotonic() < deadline, f"no {wanted!r} in {self.shown!r}"
            if select.select([self.descriptor], [], [], 1)[0]:
                self.shown += os.read(self.descriptor, 65536).decode("utf-8", "replace")
