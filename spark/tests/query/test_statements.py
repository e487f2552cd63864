"""Text cut into statements, and the shell that reads them, without Spark."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay_spark.query import shell
from forebay_spark.query.shell import Shell
from forebay_spark.query.statements import cut, statements_of
from forebay_spark.runtime.interrupts import CtrlC

#: Pieces of SQL that do not end a statement, whatever semicolons they hold.
PIECES = st.sampled_from(
    ["a", " ", "\n", "';'", "'it''s;'", r"'\';'", '"x;"', r'"\";"', "`;`", "`a``;b`", "-- ;'\n",
     "/* ; ' */", "/* /* ; */ ; */", r"r'\'", r'R"\"', "(", "1-2", "a/b", "éß"]
)  # fmt: skip
STATEMENT = st.lists(PIECES, max_size=6).map(lambda pieces: "x " + " ".join(pieces))


@given(st.lists(STATEMENT, min_size=1))
def test_a_text_is_cut_where_its_statements_end(statements: list[str]) -> None:
    wanted = [statement.strip() for statement in statements]
    assert cut(";".join(statements) + ";") == (wanted, "")
    assert statements_of(";".join(statements)) == wanted


@given(st.text("ab;'\"`-/*\\\n r", max_size=30))
def test_nothing_of_a_text_is_lost(text: str) -> None:
    statements, rest = cut(text)
    assert not rest or text.endswith(rest)
    assert all(statement in text for statement in statements)


@pytest.mark.parametrize("text", ["", " ; ;\n", "-- only\n;", "/* a */ ; -- b", ";"])
def test_comments_alone_are_no_statement(text: str) -> None:
    assert statements_of(text) == []


@pytest.mark.parametrize("text", ["SELECT ';", 'SELECT ";', "SELECT `;", "SELECT /* ;"])
def test_what_is_open_is_not_cut(text: str) -> None:
    assert cut(text) == ([], text)


def test_a_script_is_one_statement() -> None:
    script = "/* s */ begin DECLARE x INT; SET x = 1; SELECT x; END;"
    assert statements_of(script) == [script]
    assert cut("BEGIN SELECT 1;") == ([], "BEGIN SELECT 1;")
    assert statements_of("beginning; b") == ["beginning", "b"]


class Typed:
    """A person who types lines, and the statements that the shell ran."""

    def __init__(self, *lines: str | type[BaseException]) -> None:
        self._lines: Iterator[str | type[BaseException]] = iter([*lines, EOFError])
        self.prompts: list[str] = []
        self.executed: list[str] = []
        self.out = io.StringIO()
        commands = {".tables": lambda: self.executed.append("tables")}
        told = lambda error: f"oh: {error}"  # noqa: E731
        Shell(self._execute, commands, told, CtrlC(), self._read, self.out).run()

    def _read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = next(self._lines)
        if isinstance(line, str):
            return line
        raise line

    def _execute(self, statement: str) -> None:
        if statement == "interrupt":
            raise KeyboardInterrupt
        if statement == "bad":
            raise ValueError("no such table")
        self.executed.append(statement)


def test_a_statement_may_take_several_lines() -> None:
    typed = Typed("SELECT 1,", "';' -- ;", "; SELECT", "2;", ".tables")
    assert typed.executed == ["SELECT 1,\n';' -- ;", "SELECT\n2", "tables"]
    assert typed.prompts == ["sql> ", "  -> ", "  -> ", "  -> ", "sql> ", "sql> "]


def test_a_mistake_is_told_and_the_shell_goes_on() -> None:
    typed = Typed("bad; c;", ".nothing", "interrupt;", "d;", ".help")
    assert typed.executed == ["d"]
    told = typed.out.getvalue()
    assert "oh: no such table\n" in told and "there is no .nothing" in told and "stopped" in told
    assert ".refresh" in told


def test_ctrl_c_leaves_the_statement_and_quit_the_shell() -> None:
    assert Typed("SELECT", KeyboardInterrupt, "1;", ".quit", "2;").executed == ["1"]


def test_lines_are_remembered_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readline = pytest.importorskip("readline")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    readline.clear_history()
    with shell.history():
        readline.add_history("SELECT 1;")
    readline.clear_history()
    assert (tmp_path / "forebay" / "sql_history").stat().st_mode & 0o777 == 0o600
    with shell.history():
        assert readline.get_history_item(1) == "SELECT 1;"
    readline.clear_history()
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/x")
    with shell.history():
        pass
