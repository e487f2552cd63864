"""``forebay dead``: letters listed, shown, sent back, dropped; mistakes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from forebay_workers import Message
from forebay_workers.settle.letters import write
from testkit.servers import environment, free_port
from testkit.waiting import wait_until
from workers.tests.support.work import Work

pytestmark = pytest.mark.one_server

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def dead(work: Work) -> Run:
    """``forebay dead`` on a stream with three letters."""
    work.start("--health", f":{work.port}")
    work.ready()
    for _ in range(2):
        work.target.client.xadd("s", {"n": "boom"})
    work.target.client.xadd("s", {"x": "no n"})
    wait_until("buried", lambda: work.target.client.xlen("s:dead") == 3)
    assert work.stop() == 0

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "forebay", "dead", *words, "--url", work.target.url]
        return subprocess.run(
            command, env=environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    return run


def test_letters_are_listed_shown_sent_back_and_dropped(work: Work, dead: Run) -> None:
    rows = [json.loads(line) for line in dead("list", "s", "--json").stdout.splitlines()]
    assert [row["error"] for row in rows] == ["ValueError: boom"] * 2 + ["KeyError: 'n'"]
    assert rows[0]["fields"] == {"n": "boom"}
    listed = dead("list", "s", "--error", "KeyError").stdout
    assert "KeyError: 'n'" in listed and "boom" not in listed
    shown = dead("show", "s", rows[0]["id"]).stdout
    assert "error     ValueError: boom" in shown and "  n: boom\n" in shown
    assert 'raise ValueError("boom")' in shown
    assert "forebay_workers" not in shown, "lines of the library say nothing to its user"
    assert dead("show", "s").stdout == dead("show", "s", rows[2]["id"]).stdout
    missing = dead("show", "s", "1-1")
    assert (missing.returncode, missing.stderr) == (
        1,
        "forebay: s:dead has no letter 1-1; try: forebay dead list s\n",
    )
    assert dead("redrive", "s").returncode == 2
    assert dead("redrive", "s", "--error", "KeyError").stdout == "1 sent back\n"
    asked = dead("drop", "s", "--all")
    assert (asked.returncode, asked.stderr) == (
        1,
        "forebay: nothing was done: to delete 2 letters of s:dead for ever, say --yes\n",
    )
    assert dead("drop", "s", "--id", rows[0]["id"], "--yes").stdout == "1 deleted\n"
    assert dead("redrive", "s", "--all", "--rate", "1000").stdout == "1 sent back\n"
    for words in (("list", "s"), ("show", "s"), ("redrive", "s", "--all"), ("drop", "s", "--all")):
        empty = dead(*words)
        assert (empty.returncode, empty.stdout) == (0, "no dead letters in s:dead\n")
    assert [e.get("n") for e in work.target.entries("s")][-2:] == [None, "boom"]


def test_a_table_of_letters_is_cut_nowhere(work: Work, dead: Run) -> None:
    row = json.loads(dead("list", "s", "--json").stdout.splitlines()[0])
    listed = dead("list", "s").stdout.splitlines()
    assert listed[0].split() == ["id", "failed", "attempts", "origin", "error"]
    assert listed[1].startswith(row["id"])
    assert listed[1].endswith(f"s {row['origin_id']}  ValueError: boom")
    some = dead("list", "s", "-n", "1")
    assert some.stdout.splitlines()[1:] == listed[1:2]
    assert some.stderr == "forebay: 2 more; --limit 3 lists all\n"


def test_a_reader_that_has_seen_enough_is_no_fault_of_the_server(work: Work, dead: Run) -> None:
    line = f"{sys.executable} -u -m forebay dead list s --json --url {work.target.url} | true"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line], env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_no_letter_is_said(work: Work, dead: Run) -> None:
    for words, code, sentence in (
        (("show", "s", "first"), 2, "'first' is not an ID; try: forebay dead list s"),
        (
            ("redrive", "s", "--id", "1-1"),
            1,
            "1 of these were not chosen or are not letters of s:dead; try: forebay dead list s",
        ),
        (
            ("list", "t"),
            1,
            f"there is no stream t, nor t:dead, at {work.target.url}; list its streams with: "
            "forebay info '*'",
        ),
    ):
        done = dead(*words)
        assert (done.returncode, done.stderr) == (code, f"forebay: {sentence}\n")


def test_bytes_of_a_letter_are_kept_in_json(work: Work, dead: Run) -> None:
    work.target.client.delete("s:dead")
    message = Message("s", b"1-0", [b"n", b"\xff", b"n", b"2"])
    fields = write(message, KeyError("n"), "g", "c", 5)
    work.target.client.execute_command("XADD", "s:dead", "*", *fields)
    row = json.loads(dead("show", "s", "--json").stdout)
    assert row["fields"] == [["n", {"base64": "/w=="}], ["n", "2"]]
    assert "n: \\xff" in dead("show", "s").stdout


def test_a_server_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    url = f"redis://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "forebay", "dead", "list", "s", "--url", url]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"forebay: {url} cannot be reached (Connection refused). Start it, or fix the URL.\n"
    )
