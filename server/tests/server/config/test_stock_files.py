"""Stock configurations of Redis and Valkey start a server, and CONFIG GET knows all their
names."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.server.config.config import ROWS, Config
from server.tests.support.names import NAMES, words
from server.tests.support.stock_files import STOCK
from testkit.servers import start_forebay

#: Intended differences (docs/compatibility.md).
OTHER_DEFAULTS = {"client-output-buffer-limit"}


@pytest.mark.parametrize("name", STOCK)
def test_a_stock_file_starts_a_server(name: str, tmp_path: Path) -> None:
    for folder in ("run", "log", "lib"):
        (tmp_path / folder).mkdir()
    conf = tmp_path / "stock.conf"
    conf.write_text(STOCK[name].format(dir=tmp_path))
    server = start_forebay(tmp_path / "home", "--include", str(conf), "--daemonize", "no")
    try:
        with server.client(unix=True) as client:
            assert client("CONFIG", "GET", "appendonly") == [b"appendonly", b"no"]
            assert client("CONFIG", "GET", "slowlog-max-len") == [b"slowlog-max-len", b"128"]
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("path", ["/etc/redis/redis.conf"])
def test_the_file_of_this_machine_is_understood(path: str) -> None:
    try:
        text = Path(path).read_text("utf-8", "surrogateescape")
    except OSError:
        pytest.skip("not installed, or not for us to read")
    Config().load_text(text, path)


def test_every_directive_of_redis_is_there_with_its_default() -> None:
    ours = {name: text.decode() for name, text in _listed(Config()).items()}
    wanted = {name: text for name, text in NAMES["config"].items() if name not in OTHER_DEFAULTS}
    assert {name: ours.get(name) for name in wanted} == wanted


def _listed(config: Config) -> dict[str, bytes]:
    return {name.decode(): text for name, text in config.get([b"*"]).items()}


def test_words_of_valkey_are_answered_by_name_and_not_listed() -> None:
    config = Config()
    for name in words(NAMES["valkey_config"]):
        assert config.get([name.encode()]), name
    assert set(_listed(config)) & set(words(NAMES["valkey_config"])) == {"aof-disable-auto-gc"}


def test_a_word_of_valkey_for_something_that_works_here_works() -> None:
    config = Config()
    config.load_text("commandlog-execution-slower-than 7\nprimaryauth secret\n", "valkey.conf")
    assert config.settings.slowlog_slower_than_us == 7
    assert config.get([b"slowlog-log-slower-than"]) == {b"slowlog-log-slower-than": b"7"}
    assert config.get([b"masterauth"]) == {b"masterauth": b"secret"}
    config.set([(b"commandlog-slow-execution-max-len", b"9")], local=True)
    assert config.settings.slowlog_max_len == 9


def test_a_file_with_words_of_valkey_can_be_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "valkey.conf"
    path.write_text("commandlog-execution-slower-than 7\nmptcp no\n")
    config = Config.load([str(path)])
    config.set([(b"slowlog-log-slower-than", b"8"), (b"log-format", b"json")], local=True)
    config.rewrite()
    again = Config.load([str(path)])
    assert again.settings == config.settings
    assert again.inert == config.inert


def test_every_name_is_of_exactly_one_directive() -> None:
    rows = {id(row): row for row in ROWS.values()}.values()
    names = [name for row in rows for name in (row.name, row.alias, row.valkey) if name]
    assert sorted(names) == sorted(ROWS)
