"""Who may read and who may write: sign-in, tokens, names, a read-only console."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from testkit.consoles import Asker, console
from testkit.servers import ServerProcess


def url(server: ServerProcess, user: str = "") -> str:
    return f"redis://{user}127.0.0.1:{server.port}"


def test_a_server_with_a_password_wants_it_from_each_browser(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay("--requirepass", "secret")
    with console(url(server, ":secret@")) as asker:
        assert asker.enter()[1]["user"] is None
        assert asker.ask("GET", "/streams")[0] == 401
        assert asker.enter("default", "guess")[0] == 401
        assert asker.enter("default", "secret")[0] == 200
        assert asker.ask("GET", "/streams")[0] == 200
        asker.ask("DELETE", "/session")
        assert asker.ask("GET", "/streams")[0] == 401


def test_guesses_are_slowed_down(make_forebay: Callable[..., ServerProcess]) -> None:
    server = make_forebay("--requirepass", "secret")
    with console(url(server, ":secret@")) as asker:
        statuses = [asker.enter("default", f"guess {n}")[0] for n in range(12)]
    assert statuses.count(429) >= 4


def test_the_secret_of_the_server_is_in_no_answer(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay("--requirepass", "hunter2secret")
    with console(url(server, ":hunter2secret@")) as asker:
        asker.enter("default", "hunter2secret")
        for path in ("/api/session", "/api/server", "/api/server/settings", "/metrics"):
            assert b"hunter2secret" not in asker.request("GET", path).data, path


def test_a_console_without_write_changes_nothing(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay()
    with console(url(server)) as asker:
        asker.enter()
        status, found = asker.ask("POST", "/streams/orders/entries", {"fields": [["a", "b"]]})
        assert (status, "--write" in found["error"]) == (403, True)
        with server.client() as client:
            assert client("XLEN", "orders") == 0


def test_a_change_needs_the_token_that_only_the_page_has(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay()
    with console(url(server), "--write") as asker:
        asker.enter()
        stranger = Asker(asker.port)
        stranger.cookie = asker.cookie
        body = {"fields": [["a", "b"]]}
        assert stranger.ask("POST", "/streams/orders/entries", body)[0] == 403
        form = {"content-type": "text/plain", "x-console-token": asker.token}
        answer = asker.request("POST", "/api/streams/orders/entries", body, form)
        assert answer.status == 400
        assert asker.ask("POST", "/streams/orders/entries", body)[0] == 200


def test_a_foreign_name_is_not_answered(make_forebay: Callable[..., ServerProcess]) -> None:
    with console(url(make_forebay())) as asker:
        assert asker.request("GET", "/", headers={"host": "evil.example:80"}).status == 421
        assert asker.request("GET", "/", headers={"host": f"localhost:{asker.port}"}).status == 200


def test_every_answer_forbids_frames_and_foreign_scripts(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    with console(url(make_forebay())) as asker:
        asker.enter()
        for path in ("/", "/page/main.js", "/api/streams", "/api/nothing", "/metrics"):
            answer = asker.request("GET", path)
            policy = answer.headers.get("content-security-policy") or ""
            assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy, path
            assert answer.headers.get("x-content-type-options") == "nosniff"


def test_a_server_that_is_away_is_said_and_found_again(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay()
    with console("redis://127.0.0.1:1") as asker:
        found = asker.enter()[1]
        assert found["user"] is None
        assert asker.enter("default", "x")[0] == 502
    assert server.alive()


def test_a_port_that_is_taken_is_one_sentence(
    make_forebay: Callable[..., ServerProcess],
) -> None:
    server = make_forebay()
    command = [sys.executable, "-m", "forebay", "console", "--port", str(server.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "choose another with --port" in done.stderr
    assert "Traceback" not in done.stderr
