"""The forebay command: its output, its errors, how quickly it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

import forebay
from forebay.cli.main import COMMANDS, main
from testkit.servers import free_port


def run(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "forebay", *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_version_says_whether_the_core_is_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    how = "compiled" if forebay.compiled() else "interpreted"
    assert capsys.readouterr().out.startswith(f"forebay {forebay.__version__} ({how}, Python 3.")


def test_help_names_every_command_and_a_first_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, (_, summary) in COMMANDS.items():
        assert name in text
        assert summary in text
    assert "XADD" in text


def test_without_arguments_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "usage: forebay COMMAND" in capsys.readouterr().out


def test_help_of_serve_lists_directives(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    text = capsys.readouterr().out
    for directive in ("--port", "--bind", "--requirepass", "--maxclients"):
        assert directive in text


def test_every_directive_in_the_help_of_serve_exists() -> None:
    from forebay.cli.serve import HELP
    from forebay.server.config.config import ROWS

    named = {word[2:] for word in HELP.split() if word.startswith("--") and word[2:].islower()}
    assert named - set(ROWS) == {"help", "console"}


def test_help_of_serve_explains_a_directive(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", "1", "--help", "--appendfsync", "loadmodule", "user"]) == 0
    text = capsys.readouterr().out
    for part in ("everysec | always | no", "default: everysec", "forced onto the disk", "refused"):
        assert part in text
    assert "user alice on >secret" in text


def test_help_of_serve_has_a_line_about_every_directive(capsys: pytest.CaptureFixture[str]) -> None:
    from forebay.server.config.table import HONOURED

    assert main(["serve", "--help", "all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for row in HONOURED:
        assert f"    {row.doc}" in lines


def test_help_about_what_does_not_exist_knows_what_was_meant(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "--help", "prot"]) == 1
    assert capsys.readouterr().err == "forebay: no directive 'prot'; did you mean port?\n"


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("serv", "forebay serve"),
        ("sevre --port 7", "forebay serve --port 7"),
        ("chek data", "forebay check data"),
        ("--port 7", "forebay serve --port 7"),
        ("/etc/redis.conf", "forebay serve /etc/redis.conf"),
    ],
)
def test_a_line_without_a_command_is_answered_with_the_one_that_was_meant(
    line: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert capsys.readouterr().err.endswith(f"; did you mean: {meant}\n")


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fly"]) == 2
    assert "no command 'fly'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["--prot", "1"], "", "--prot"),
        (["--port", "banana"], "", "--port banana"),
        (["/does/not/exist.conf"], "", "/does/not/exist.conf"),
        (["-"], "port 1\nunheard-of 5\n", "standard input, line 2: 'unheard-of 5'"),
        (["--port", "0"], "", "nowhere to listen"),
        (["--bind", "192.0.2.1"], "", "cannot listen on 192.0.2.1"),
        (["--logfile", "/does/not/exist/log"], "", "/does/not/exist/log"),
        (["--unixsocket", "/does/not/exist/sock", "--port", "0"], "", "/does/not/exist/sock"),
    ],
)
def test_a_start_that_cannot_be_is_one_sentence_and_exit_code_one(
    args: list[str], stdin: str, message: str
) -> None:
    result = run("serve", *args, stdin=stdin)
    assert result.returncode == 1
    assert message in result.stderr
    assert result.stderr.startswith("forebay: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr + result.stdout


@pytest.mark.parametrize("folder", ["/proc/none/data", "/proc"])
def test_a_directory_that_cannot_be_used_is_one_sentence(folder: str) -> None:
    result = run("serve", "--port", str(free_port()), "--dir", folder)
    assert result.returncode == 1
    assert folder[:10] in result.stderr
    assert "--appendonly no" in result.stderr
    assert result.stderr.count("\n") == 1


def test_asking_for_the_version_loads_nothing_of_the_server() -> None:
    code = (
        "import sys, forebay.cli.main as m; m.main(['--version']);"
        "bad = {n for n in sys.modules if n.startswith(('forebay.server.', 'forebay.engine'))};"
        # A dozen lines that import nothing: they show whether the core is C, with its types.
        "bad -= {'forebay.engine', 'forebay.engine.ticker'};"
        "sys.exit(repr(bad) if bad else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr


def test_a_server_starts_without_heavy_imports() -> None:
    heavy = ("asyncio", "ssl", "logging", "unittest", "email", "http", "xml", "multiprocessing")
    code = (
        "import sys, forebay.server.startup;"
        f"bad = [n for n in {heavy!r} if n in sys.modules];"
        "sys.exit(repr(bad) if bad else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
