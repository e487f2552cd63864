"""Every `forebay ...` that a page shows is valid: the command and its options exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.cli import apps, main
from forebay.server.config.config import ROWS, Config
from testkit.pages import blocks, inline_commands, shell_commands
from testkit.places import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINES = [(page.name, words) for page in PAGES for words in shell_commands(page, "forebay")]
INLINE = [(page.name, words) for page in PAGES for words in inline_commands(page, "forebay")]

#: Commands that are not run: they need Spark, a server or an app, and reading is enough.
ONLY_READ = ("pipeline", "sql", "lake", "doctor", "work", "dead", "console", *main.STREAM_COMMANDS)
#: Commands that have commands of their own.
WITH_WORDS = ("pipeline", "lake", "dead", "groups", "consumers", "pending")


def name_of(value: str | list[str]) -> str:
    """The test ID of a page or its command."""
    return value if isinstance(value, str) else " ".join(value)[:60]


def understand(words: list[str], folder: Path) -> None:
    """Raise, or exit with 2, if this is not a valid command line; it has no other effect."""
    name, args = words[0], words[1:]
    if name == "serve":
        Config.load(args)
    elif name in ONLY_READ:
        apps.understand(apps.root(main.commands()), words)
    else:
        nowhere = [str(folder / "missing") if "/" in arg else arg for arg in args]
        assert main.main([name, *nowhere]) != 2


def test_the_pages_show_commands_at_all() -> None:
    assert len(LINES) > 5
    assert len(INLINE) > 10


@pytest.mark.parametrize(("page", "words"), LINES, ids=name_of)
def test_a_command_line_of_a_page_is_understood(
    page: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    understand(words[1:], tmp_path)


@pytest.mark.parametrize(("page", "words"), INLINE, ids=name_of)
def test_a_command_inside_of_a_sentence_has_its_options(
    page: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *args = words[1:]
    if name.startswith("--"):
        assert main.main([name]) == 0
        return
    assert name in main.commands()
    options = {word for word in args if word.startswith("--")} - {"--help"}
    if name == "serve":
        assert {option.removeprefix("--") for option in options} <= {*ROWS, "console"}
        return
    sub = [arg for arg in args[:1] if name in WITH_WORDS and arg.islower()]
    assert main.main([name, *sub, "--help"]) == 0
    assert options <= set(capsys.readouterr().out.replace(",", " ").split())


@pytest.mark.parametrize(
    "wrong",
    [
        "serve --prot 6379",
        "serve --dir data the default directory is this one",
        "check --mend data",
        "dump",
        "pipeline archive --streams orders --lake lake",
        "sql --lakes lake",
        "lake vacuum lake --deleted",
    ],
)
def test_a_line_that_is_wrong_would_be_found(wrong: str, tmp_path: Path) -> None:
    with pytest.raises((Exception, SystemExit)):
        understand(wrong.split(), tmp_path)


def test_what_a_reader_copies_from_the_readme_is_marked_as_such() -> None:
    """A command is in a block of the shell, so that it is copied without prompt and answer."""
    for block in blocks(ROOT / "README.md"):
        starts = [line for line in block.lines if line.startswith(("$ ", "forebay ", ".venv/"))]
        assert not starts or block.language == "sh", starts
