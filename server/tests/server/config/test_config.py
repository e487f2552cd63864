"""Config: the command line, the values, CONFIG GET, CONFIG SET and CONFIG REWRITE."""

import io
from dataclasses import fields
from pathlib import Path

import pytest

from forebay.commands.api.settings import OutputLimit, Settings
from forebay.errors import CommandError, ConfigError
from forebay.server.config.config import ROWS, Config
from forebay.server.config.table import HONOURED


def changed(config: Config, **pairs: str) -> None:
    """CONFIG SET with underscores instead of dashes."""
    items = [(name.replace("_", "-").encode(), value.encode()) for name, value in pairs.items()]
    config.set(items, local=True)


def test_every_setting_is_filled_by_exactly_one_directive() -> None:
    attributes = [row.attribute for row in HONOURED]
    assert sorted(attributes) == sorted(field.name for field in fields(Settings))


def test_every_default_is_a_value_that_its_own_directive_accepts() -> None:
    config = Config()
    for row in ROWS.values():
        text = config.text(row)
        words = text.split() if row.kind.many else [text]
        value = row.kind.parse(words or [""], config.value(row))
        assert row.kind.show(value) == text, row.name


# The command line


def test_options_win_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("port 1\ntimeout 5\n")
    config = Config.load([str(path), "--port", "2"])
    assert (config.settings.port, config.settings.timeout_s) == (2, 5)
    assert config.path == str(path)


def test_without_arguments_everything_is_default() -> None:
    config = Config.load([])
    assert config.settings == Settings()
    assert config.path == ""
    assert config.warnings() == []


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("port 7\n"))
    assert Config.load(["-", "--timeout", "3"]).settings.port == 7


def test_an_option_may_have_many_words_in_one_or_in_several_arguments() -> None:
    config = Config.load(["--save", "60", "1", "--save", "300 5", "--bind", "1.2.3.4", "::1"])
    assert config.text(ROWS["save"]) == "60 1 300 5"
    assert config.settings.bind == ("1.2.3.4", "::1")


def test_an_empty_save_clears_what_stood_before() -> None:
    assert Config.load(["--save", "60", "1", "--save", ""]).text(ROWS["save"]) == ""


def test_a_word_that_is_no_option_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(ConfigError, match="'stray': a directive must start with --"):
        Config.load(["-", "stray"])


def test_units_are_powers_of_1000_or_1024() -> None:
    for text, size in [("1k", 1000), ("1kb", 1024), ("2M", 2000000), ("1GB", 1 << 30), ("7b", 7)]:
        config = Config.load(["--maxmemory", text])
        assert config.settings.maxmemory == size


def test_output_limits_change_only_the_class_that_is_named() -> None:
    config = Config.load(["--client-output-buffer-limit", "slave", "1mb", "2kb", "3"])
    assert config.settings.output_limits["replica"] == OutputLimit(1 << 20, 2048, 3)
    assert config.settings.output_limits["normal"] == Settings().output_limits["normal"]


def test_inert_directives_that_were_set_are_warned_of_once_by_name() -> None:
    config = Config.load(
        ["--repl-rdb-channel", "yes", "--activedefrag", "yes", "--dynamic-hz", "yes"]
    )
    (warning,) = config.warnings()
    assert "repl-rdb-channel" in warning
    assert "activedefrag" in warning
    assert "dynamic-hz" not in warning


def test_directives_that_would_be_dangerous_to_ignore_are_accepted_when_they_ask_for_nothing() -> (
    None
):
    harmless = ["--cluster-enabled", "no", "--tls-port", "0", "--replicaof", "no", "one"]
    config = Config.load([*harmless, "--slaveof", "NO", "ONE", "--aclfile", ""])
    assert config.settings == Settings()
    assert config.warnings() == []
    assert config.get([b"replicaof", b"slaveof"]) == {b"replicaof": b"", b"slaveof": b""}


@pytest.mark.parametrize(
    "words", [["--replicaof", "10.0.0.1", "6379"], ["--slaveof", "10.0.0.1 6379"]]
)
def test_a_primary_to_follow_is_a_host_and_a_port(words: list[str]) -> None:
    config = Config.load(words)
    assert config.settings.replicaof == ("10.0.0.1", "6379")
    assert config.get([b"replicaof"]) == {b"replicaof": b"10.0.0.1 6379"}


@pytest.mark.parametrize("words", [["10.0.0.1"], ["10.0.0.1", "x"], ["10.0.0.1", "70000"]])
def test_a_primary_that_is_no_host_and_port_refuses_the_start(words: list[str]) -> None:
    with pytest.raises(ConfigError, match="the host and the port of a primary"):
        Config.load(["--replicaof", *words])


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["--cluster-enabled", "yes"], "write 'cluster-enabled no'"),
    ],
)
def test_what_must_not_be_ignored_refuses_the_start_and_says_what_to_do(
    words: list[str], advice: str
) -> None:
    with pytest.raises(ConfigError, match="refused: ") as caught:
        Config.load(words)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("tls-protocols", "TLSv1", "TLSv1 is broken and not supported here"),
        ("replicaof", "10.0.0.1 6379", "can't set immutable config"),
        ("slaveof", "no one", "can't set immutable config"),
    ],
)
def test_a_running_server_refuses_it_likewise(name: str, value: str, reason: str) -> None:
    config = Config()
    with pytest.raises(CommandError, match=reason):
        config.set([(name.encode(), value.encode())], local=True)
    assert config.get([b"tls-protocols"]) == {b"tls-protocols": b""}


# Did you mean


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--prot", "1"], "did you mean --port?"),
        (["--port=1"], "did you mean --port 1?"),
        (["--Dir=/Tmp/A"], "did you mean --dir /Tmp/A?"),
        (["--prot=1"], "did you mean --port 1?"),
        (["-p", "1"], "did you mean --port?"),
        (["-port", "1"], "did you mean --port?"),
        (["1"], "did you mean --port 1?"),
        (["port", "1"], "did you mean --port?"),
        (["--appendfsnc", "always"], "did you mean --appendfsync?"),
    ],
)
def test_a_slip_of_the_pen_is_named_with_what_was_meant(words: list[str], hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.load(words)
    assert hint in str(caught.value)


def test_what_resembles_nothing_gets_no_advice() -> None:
    for words in (["--qqqq", "1"], ["-x"], ["qqqq"]):
        with pytest.raises(ConfigError) as caught:
            Config.load(words)
        assert "did you mean" not in str(caught.value)


# What users of Redis may rely on


def test_without_the_aof_a_server_has_the_save_points_of_redis_unless_it_was_told_others() -> None:
    def points(*words: str) -> str:
        return Config.load(list(words)).get([b"save"])[b"save"].decode()

    assert points() == ""
    assert points("--appendonly", "no") == "3600 1 300 100 60 10000"
    assert points("--appendonly", "no", "--save", "") == ""
    assert points("--appendonly", "no", "--save", "60", "1") == "60 1"


def test_a_policy_that_evicts_is_warned_of_if_there_is_a_limit() -> None:
    config = Config.load(["--maxmemory", "1mb", "--maxmemory-policy", "allkeys-lru"])
    (warning,) = config.warnings()
    assert warning.startswith("NOTHING IS EVICTED, although maxmemory-policy is allkeys-lru")
    assert "1048576 bytes" in warning
    assert Config.load(["--maxmemory", "1mb"]).warnings() == []
    assert Config.load(["--maxmemory-policy", "allkeys-lru"]).warnings() == []


def test_save_points_of_several_lines_add_up_and_an_empty_one_clears_them() -> None:
    config = Config()
    config.load_text("save 900 1\nsave 300 10 60 100\n", "a.conf")
    assert config.settings.save_points == ((900, 1), (300, 10), (60, 100))
    assert config.get([b"save"]) == {b"save": b"900 1 300 10 60 100"}
    changed(config, save="5 6")
    assert config.settings.save_points == ((5, 6),)
    config.load_text('save ""\n', "b.conf")
    assert config.settings.save_points == ()


@pytest.mark.parametrize("words", ["1", "0 1", "x 1", "1 -1", "1 2 3"])
def test_save_points_that_make_no_sense_are_refused(words: str) -> None:
    with pytest.raises(CommandError, match="Invalid save parameters"):
        changed(Config(), save=words)


def test_file_names_may_not_be_paths() -> None:
    with pytest.raises(ConfigError, match="appendfilename can't be a path, just a filename"):
        Config.load(["--appendfilename", "a/b"])


def test_the_words_of_a_shutdown_by_signal_are_checked() -> None:
    config = Config()
    assert config.get([b"shutdown-on-sigterm"]) == {b"shutdown-on-sigterm": b"default"}
    changed(config, shutdown_on_sigterm="nosave FORCE")
    assert config.settings.shutdown_on_sigterm == ("nosave", "force")
    for wrong in ("later", "save nosave", "default now"):
        with pytest.raises(CommandError):
            changed(config, shutdown_on_sigterm=wrong)


# CONFIG GET


def test_get_takes_many_patterns_and_answers_each_name_once() -> None:
    found = Config().get([b"max*mory", b"maxmemory", b"PORT", b"nosuch"])
    assert found == {b"maxmemory": b"0", b"port": b"6379"}


def test_old_names_answer_too() -> None:
    found = Config().get([b"slave-priority", b"replica-priority"])
    assert found == {b"replica-priority": b"100", b"slave-priority": b"100"}


def test_the_questions_of_redis_benchmark_are_answered() -> None:
    assert Config().get([b"save"]) == {b"save": b""}
    assert Config().get([b"appendonly"]) == {b"appendonly": b"yes"}


# CONFIG SET


def test_set_changes_settings_and_get_shows_it() -> None:
    config = Config()
    changed(config, maxmemory="1gb", notify_keyspace_events="KEA", slave_priority="7")
    assert config.settings.maxmemory == 1 << 30
    assert config.get([b"notify-keyspace-events"]) == {b"notify-keyspace-events": b"AKE"}
    assert config.get([b"replica-priority"]) == {b"replica-priority": b"7"}


def test_set_is_all_or_nothing() -> None:
    config = Config()
    with pytest.raises(CommandError, match="argument must be a memory value"):
        changed(config, timeout="9", maxmemory="lots")
    assert config.settings.timeout_s == 0


def test_an_unknown_name_is_found_before_any_value_is_looked_at() -> None:
    with pytest.raises(CommandError) as caught:
        changed(Config(), maxmemory="lots", nosuch="1")
    assert caught.value.text == (
        b"ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"
    )


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("databases", "3", "can't set immutable config"),
        ("dir", "/tmp", "can't set protected config"),
        ("timeout", "-1", "argument must be between 0 and 2147483647 inclusive"),
        ("loglevel", "loud", "argument(s) must be one of the following: debug, verbose,"),
        ("notify-keyspace-events", "Q", "Invalid event class character."),
    ],
)
def test_a_refused_value_says_why_in_the_words_of_redis(name: str, value: str, reason: str) -> None:
    with pytest.raises(CommandError) as caught:
        Config().set([(name.encode(), value.encode())], local=True)
    text = caught.value.text.decode()
    start = f"ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}"
    assert text.startswith(start)


def test_a_name_may_not_come_twice_even_under_its_old_name() -> None:
    pairs = [(b"replica-priority", b"1"), (b"slave-priority", b"2")]
    with pytest.raises(CommandError, match="duplicate parameter"):
        Config().set(pairs, local=True)


def test_protected_directives_open_up_for_everybody_or_for_local_clients() -> None:
    for allowed, local, works in [
        ("yes", False, True),
        ("local", True, True),
        ("local", False, False),
    ]:
        config = Config.load(["--enable-protected-configs", allowed])
        if works:
            config.set([(b"dbfilename", b"x")], local)
        else:
            with pytest.raises(CommandError, match="protected"):
                config.set([(b"dbfilename", b"x")], local)


def test_a_listener_hears_of_the_new_value() -> None:
    config, heard = Config(), []
    config.on_change("port", heard.append)
    changed(config, port="7", timeout="1")
    assert heard == [7]


def test_when_a_listener_refuses_all_values_are_put_back_and_the_others_hear_it() -> None:
    config, heard = Config(), []

    def refuse(port: int) -> None:
        raise ConfigError("Failed to bind")

    config.on_change("hz", heard.append)
    config.on_change("port", refuse)
    with pytest.raises(CommandError, match=r"argument 'port'\) - Failed to bind"):
        changed(config, hz="50", port="1")
    assert heard == [50, 10]
    assert config.settings == Settings()


# CONFIG REWRITE


def test_rewrite_needs_a_file() -> None:
    with pytest.raises(CommandError, match="ERR The server is running without a config file"):
        Config().rewrite()


def test_rewrite_keeps_comments_order_and_lines_that_still_hold(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("# my server\nmaxmemory 1gb  \n\nport 6000\nsave 60 1\nsave 300 5\n# end\n")
    config = Config.load([str(path)])
    changed(config, port="6001", timeout="9")
    config.rewrite()
    assert path.read_text() == (
        "# my server\nmaxmemory 1gb  \n\nport 6001\nsave 60 1\nsave 300 5\n# end\n"
        "# Generated by CONFIG REWRITE\ntimeout 9\n"
    )


def test_a_rewritten_file_loads_to_the_values_in_force(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("save 60 1\nsave 300 5\nclient-output-buffer-limit pubsub 1 1 1\nhz 10\n")
    config = Config.load([str(path), "--unixsocket", "/tmp/a b"])
    changed(
        config,
        save="1 2 3 4",
        client_output_buffer_limit="normal 1mb 2 3",
        requirepass='a "b" \\ \n',
        notify_keyspace_events="Kt",
        latency_tracking_info_percentiles="50 99.99",
        bind="127.0.0.1 ::1",
    )
    config.rewrite()
    again = Config.load([str(path)])
    assert again.settings == config.settings
    assert again.inert == config.inert
    config.rewrite()
    assert path.read_text().count("# Generated by CONFIG REWRITE") == 1


def test_what_an_include_says_is_overruled_at_the_end_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    (tmp_path / "b.conf").write_text("timeout 3\n")
    path.write_text(f"include {tmp_path}/b.conf\n")
    config = Config.load([str(path)])
    changed(config, timeout="4")
    config.rewrite()
    assert path.read_text().endswith("timeout 4\n")
    assert (tmp_path / "b.conf").read_text() == "timeout 3\n"
    assert Config.load([str(path)]).settings.timeout_s == 4


def test_a_rewritten_file_keeps_its_permissions_and_leaves_nothing_beside_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.conf"
    path.write_text("port 1\n")
    path.chmod(0o600)
    config = Config.load([str(path)])
    changed(config, port="2")
    config.rewrite()
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_has_gone_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("port 1\n")
    config = Config.load([str(path)])
    path.unlink()
    with pytest.raises(CommandError, match="ERR Rewriting config file: No such file"):
        config.rewrite()
