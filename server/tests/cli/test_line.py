"""The command line and how commands end: mistakes, ctrl-c, colours, completion, plug-ins."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import forebay
from forebay.cli.main import COMMANDS, main
from server.tests.support.aof_files import command, seal_all, write_aof

Printed = pytest.CaptureFixture[str]
FOREBAY = [sys.executable, "-m", "forebay"]
COLOUR = re.compile(rb"\x1b\[[\d;]*3\d")


def loaded_by(*args: str) -> set[str]:
    """The packages that a command line loads, by their first name."""
    code = (
        "import sys, forebay.cli.main as m; sys.stderr = open('/dev/null', 'w');"
        f"m.main({list(args)!r}); sys.stdout = sys.__stderr__;"
        "print('\\n'.join({n.partition('.')[0] for n in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


# The cost of a start


def test_a_server_starts_without_the_library_of_the_command_line() -> None:
    heavy = {"cyclopts", "rich", "attrs", "email", "redis", "hiredis", "forebay_spark"}
    assert not heavy & loaded_by("serve", "--port", "banana")
    assert not heavy & loaded_by("serve", "--help")
    assert not heavy & loaded_by("--version")


def test_help_knows_all_commands_without_what_runs_below_them() -> None:
    assert not {"cyclopts", "rich", "pyspark", "pyarrow", "redis"} & loaded_by("--help")


def test_a_small_command_does_not_load_the_client_that_only_tls_needs() -> None:
    loaded = loaded_by("range", "s", "--url", "redis://127.0.0.1:1")
    assert "hiredis" in loaded and not {"redis", "asyncio", "rich"} & loaded
    assert "redis" in loaded_by("range", "s", "--url", "rediss://127.0.0.1:1")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_terminal(name: str, capsys: Printed) -> None:
    assert main([name, "--help"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if len(line) > 100] == []
    assert "BYTES" not in " ".join(told), "what a type is called says nothing to a reader"


# Mistakes


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("check --quik .", "no option --quik; did you mean --quick?"),
        ("check --quick=maybe .", "argument --quick: 'maybe' is not yes or no"),
        ("dump --entires=3 .", "no option --entires=3; did you mean --entries?"),
        ("dump --keys", "argument --keys: a value is missing; try: forebay dump --help"),
        ("check", "the following arguments are required: PATH; try: forebay check --help"),
        ("check a b", "unrecognized arguments: b; try: forebay check --help"),
        ("check --cut-at x .", "argument --cut-at: 'x' is not a whole number; try: forebay check"),
        ("completion tcsh", "argument SHELL: invalid choice: 'tcsh' (choose from 'bash', 'zsh',"),
    ],
)
def test_a_mistake_is_one_sentence_with_what_to_do(line: str, told: str, capsys: Printed) -> None:
    assert main(line.split()) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"forebay: {told}") and said.err.count("\n") == 1, said.err
    assert said.out == ""


def test_an_empty_word_is_no_path(capsys: Printed) -> None:
    assert main(["check", ""]) == 2
    assert "an empty word is no path" in capsys.readouterr().err


def test_of_an_option_that_is_given_twice_the_last_counts(tmp_path: Path, capsys: Printed) -> None:
    write_aof(tmp_path, seal_all(*(command("SET", key, "v") for key in ("a", "b"))))
    assert main(["dump", "--keys", "a", "--keys", "b", "--json", "--json", str(tmp_path)]) == 0
    assert '["SET", "b", "v"]' in (told := capsys.readouterr().out) and '"a"' not in told


# Ctrl-c and terminals


def test_ctrl_c_ends_a_command_without_a_stack(tmp_path: Path) -> None:
    many = [command("XADD", "s", f"{i}-1", "f", "v" * 50) for i in range(1, 5000)]
    write_aof(tmp_path, seal_all(*many))
    dump = subprocess.Popen(
        [*FOREBAY, "dump", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert dump.stdout is not None
    assert dump.stdout.readline().startswith(b"# ")  # it waits now, until more is read
    dump.send_signal(signal.SIGINT)
    _, told = dump.communicate(timeout=60)
    assert (dump.returncode, told) == (130, b"")


def on_terminal(args: list[str], more: Mapping[str, str]) -> bytes:
    """What a command writes when its output is a terminal."""
    ours, theirs = os.openpty()
    known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [*FOREBAY, *args], stdout=theirs, stderr=theirs, env={**known, "TERM": "xterm", **more}
    )
    os.close(theirs)
    told = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            told += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait(60) == 0
    return told


def test_colours_are_for_terminals_whose_owner_wants_them() -> None:
    assert COLOUR.search(on_terminal(["check", "--help"], {}))
    assert not COLOUR.search(on_terminal(["check", "--help"], {"NO_COLOR": "1"}))
    piped = subprocess.run([*FOREBAY, "check", "--help"], capture_output=True, check=True).stdout
    assert b"--cut-at" in piped and b"\x1b" not in piped


def test_an_example_is_one_line_on_a_narrow_terminal() -> None:
    told = on_terminal(["check", "--help"], {"COLUMNS": "50"}).decode()
    assert "--cut-at 81234 appendonlydir/appendonly.aof.3.incr.aof\r\n" in told


# Completion


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "forebay"
    done = subprocess.run([*FOREBAY, "completion", "bash"], capture_output=True, check=True)
    path.write_bytes(done.stdout)
    return path


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("forebay ch", "check"),
        ("forebay check --cut", "--cut-at"),
        ("forebay serve --appendfs", "--appendfsync"),
        ("forebay serve --appendfsync al", "always"),
        ("forebay serve --appendonly y", "yes"),
        ("forebay completion z", "zsh"),
        ("forebay tai", "tail"),
        ("forebay tail --gro", "--group"),
        ("forebay groups res", "reset"),
        ("forebay groups reset --to-t", "--to-time"),
        ("forebay pending cl", "claim"),
        ("forebay pending nack --mode si", "silent"),
        ("forebay copy --fol", "--follow"),
        ("forebay copy --format c", "csv"),
        ("forebay pipeline arch", "archive"),
        ("forebay pipeline archive --metr", "--metrics-port"),
        ("forebay sql --format j", "json"),
    ],
)
def test_bash_completes(line: str, offered: str, bash_script: Path) -> None:
    ask = (
        'source "$1"; COMP_WORDS=($2); COMP_CWORD=$((${#COMP_WORDS[@]} - 1));'
        '_forebay; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", ask, "bash", str(bash_script), line], capture_output=True, text=True
    )
    assert done.stdout.split() == [offered], done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script_with_all_names(shell: str, capsys: Printed) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("appendfsync", "cut-at", "metrics-port", "vacuum", "to-time", "dry-run"):
        assert word in script


# Commands of other packages

TOY = '''
from cyclopts import App

COMMANDS = {"toy": ("toy_app:app", "a command from elsewhere")}
app = App(name="toy", help="A toy.")


@app.default
def toy(word: str, /, *, code: int = 0) -> int:
    """A toy."""
    print(word)
    return code
'''


def with_package(folder: Path, entry: str, *args: str) -> subprocess.CompletedProcess[str]:
    """The command line where a package with this entry point is installed too."""
    facts = folder / "toy-1.0.dist-info"
    facts.mkdir(exist_ok=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(f"[forebay.commands]\ntoy = {entry}\n")
    (folder / "toy_app.py").write_text(TOY)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(
        [*FOREBAY, *args], env=environment, capture_output=True, text=True, check=False
    )


def test_a_package_brings_commands(tmp_path: Path) -> None:
    entry = "toy_app:COMMANDS"
    assert (
        "  toy         a command from elsewhere\n" in with_package(tmp_path, entry, "--help").stdout
    )
    done = with_package(tmp_path, entry, "toy", "hello", "--code", "3")
    assert (done.returncode, done.stdout, done.stderr) == (3, "hello\n", "")
    done = with_package(tmp_path, entry, "toy", "--cod", "3", "hello")
    assert (done.returncode, done.stderr) == (
        2,
        "forebay: no option --cod; did you mean --code?\n",
    )
    assert "Usage: forebay toy" in with_package(tmp_path, entry, "toy", "--help").stdout


def test_a_broken_package_does_not_take_the_others_away(tmp_path: Path) -> None:
    done = with_package(tmp_path, "no_such_module:COMMANDS", "--help")
    assert done.returncode == 0
    assert "check" in done.stdout and "no_such_module:COMMANDS cannot be loaded" in done.stdout
    done = with_package(tmp_path, "no_such_module:COMMANDS", "toy")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "install it again" in done.stderr
    assert with_package(tmp_path, "no_such_module:COMMANDS", "check", "--help").returncode == 0


def alone(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The command line with the package forebay and no other installed package."""
    (folder / "forebay").symlink_to(Path(forebay.__file__).parent)
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r});"
        f"from forebay.cli.main import main; sys.exit(main({list(args)!r}))"
    )
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )


def test_without_the_connector_help_says_how_to_get_it(tmp_path: Path) -> None:
    told = alone(tmp_path, "--help").stdout
    assert "pipeline, lake, sql: pip install 'forebay[spark]' brings them" in told


def test_without_the_connector_its_commands_are_one_sentence(tmp_path: Path) -> None:
    done = alone(tmp_path, "sql", "SELECT 1")
    assert done.returncode == 1
    assert done.stderr == (
        "forebay: sql is not installed; get it with: pip install 'forebay[spark]'\n"
    )
