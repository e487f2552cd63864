"""The syntax of redis.conf: words, quotes, comments, include, and errors that name the place."""

from pathlib import Path

import pytest

from forebay.errors import ConfigError
from forebay.server.config.config import Config
from forebay.server.config.kinds import quoted
from forebay.server.config.redis_conf import parse_lines, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ('a ""', ["a", ""]),
        ('a "b c"', ["a", "b c"]),
        ("a 'b c'", ["a", "b c"]),
        (r'a "x\ny\t\\\"\x41"', ["a", 'x\ny\t\\"A']),
        (r"a 'it\'s \n'", ["a", r"it's \n"]),
        ('a b"c"', ["a", "bc"]),
        ("   ", []),
    ],
)
def test_a_line_is_split_into_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@pytest.mark.parametrize("text", ['a "b', "a 'b", 'a "b"c', "a 'b'c"])
def test_quotes_that_do_not_match_are_noticed(text: str) -> None:
    assert split_words(text) is None


@pytest.mark.parametrize("word", ["", "a b", 'q"uote', "back\\slash", "#hash", "\x00\n", "é", "'"])
def test_what_is_quoted_for_a_file_reads_back_the_same(word: str) -> None:
    assert split_words(f"name {quoted(word)}") == ["name", word]


def test_comments_and_empty_lines_are_skipped_and_names_lowered() -> None:
    lines = list(parse_lines("# one\n\n  PORT 1\n\t#two\nbind a b\n", "f"))
    assert [(line.name, line.words, line.where) for line in lines] == [
        ("port", ("1",), "f, line 3"),
        ("bind", ("a", "b"), "f, line 5"),
    ]


def test_an_included_file_stands_in_the_place_of_the_line(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text(f"port 1\ninclude {tmp_path}/b.conf\ntimeout 7\n")
    (tmp_path / "b.conf").write_text("port 2\ntimeout 3\n")
    config = Config.load([str(tmp_path / "a.conf")])
    assert (config.settings.port, config.settings.timeout_s) == (2, 7)


def test_an_include_may_be_a_pattern_and_may_match_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text(f"include {tmp_path}/d*.conf\ninclude {tmp_path}/no*.conf\n")
    (tmp_path / "d1.conf").write_text("port 1\n")
    (tmp_path / "d2.conf").write_text("port 2\n")
    assert Config.load([str(tmp_path / "a.conf")]).settings.port == 2


def test_a_file_that_includes_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text(f"include {path}\n")
    with pytest.raises(ConfigError, match="nested too deeply"):
        Config.load([str(path)])


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"can't open config file '/no/such\.conf'"):
        Config.load(["/no/such.conf"])


def test_a_missing_include_is_named_with_the_line_that_asked_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("port 1\ninclude /no/such.conf\n")
    with pytest.raises(ConfigError, match=r"a\.conf, line 2.*/no/such\.conf"):
        Config.load([str(path)])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nonsense 1", "Bad directive or wrong number of arguments"),
        ("port x", "argument couldn't be parsed into an integer"),
        ("port 1 2", "wrong number of arguments"),
        ("port 65536", "between 0 and 65535 inclusive"),
        ("maxmemory 5 gb", "wrong number of arguments"),
        ("maxmemory 5xb", "argument must be a memory value"),
        ("appendonly perhaps", "argument must be 'yes' or 'no'"),
        ('requirepass "x', "Unbalanced quotes in configuration line"),
        ("save 60", "Invalid save parameters"),
        ("user alice on +nosuch", "Unknown command or category name in ACL"),
        ("user alice on #abc", "The password hash must be exactly 64 characters"),
        ("user", "Bad directive or wrong number of arguments"),
        ("cluster-enabled yes", "refused: there is no cluster mode"),
    ],
)
def test_a_wrong_line_is_named_with_file_line_and_reason(
    tmp_path: Path, line: str, reason: str
) -> None:
    path = tmp_path / "bad.conf"
    path.write_text(f"# fine\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        Config.load([str(path)])
    assert "bad.conf, line 2" in str(caught.value)
    assert reason in str(caught.value)
