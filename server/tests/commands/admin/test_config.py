"""CONFIG at the engine."""

from pathlib import Path

from forebay.server.config.config import Config
from server.tests.support.admin_client import AdminClient
from testkit.resp import ReplyError


def test_get_answers_pairs_and_a_map_in_resp3() -> None:
    client = AdminClient()
    assert client("CONFIG", "GET", "port") == [b"port", b"6379"]
    client("HELLO", "3")
    assert client("CONFIG", "GET", "port", "maxmem?ry") == {b"port": b"6379", b"maxmemory": b"0"}


def test_get_of_what_does_not_exist_is_empty() -> None:
    assert AdminClient()("CONFIG", "GET", "nosuch*") == []


def test_set_takes_many_pairs_and_takes_effect_for_the_next_command() -> None:
    client = AdminClient()
    done = client("CONFIG", "SET", "stream-node-max-entries", "1", "slowlog-log-slower-than", "0")
    assert done == "OK"
    client("XADD", "s", "1-1", "f", "v")
    client("XADD", "s", "1-2", "f", "v")
    stream = client.engine.keyspace.databases[0].values[b"s"]
    assert len(stream.nodes) == 2
    assert client("SLOWLOG", "LEN") > 0


def test_set_within_a_transaction_counts_for_the_command_after_it() -> None:
    client = AdminClient()
    listener = client.new()
    listener("SUBSCRIBE", "__keyevent@0__:set")
    listener.messages()
    client("MULTI")
    client("SET", "before", "v")
    client("CONFIG", "SET", "notify-keyspace-events", "EA")
    client("SET", "after", "v")
    assert client("EXEC") == ["OK", "OK", "OK"]
    assert listener.messages() == [[b"message", b"__keyevent@0__:set", b"after"]]


def test_set_of_an_odd_number_of_words_is_an_arity_error() -> None:
    error = AdminClient()("CONFIG", "SET", "port", "1", "timeout")
    assert error == ReplyError("ERR wrong number of arguments for 'config|set' command")


def test_an_error_of_set_reaches_the_client_unchanged() -> None:
    error = AdminClient()("CONFIG", "SET", "timeout", "never")
    assert error == ReplyError(
        "ERR CONFIG SET failed (possibly related to argument 'timeout') - "
        "argument couldn't be parsed into an integer"
    )


def test_a_client_of_another_machine_may_not_set_protected_directives() -> None:
    client = AdminClient(enable_protected_configs="local")
    assert client("CONFIG", "SET", "dbfilename", "x") == "OK"
    client.session.addr = b"10.0.0.1:4000"
    assert "protected config" in str(client("CONFIG", "SET", "dbfilename", "y"))


def test_resetstat_clears_counters_and_histograms() -> None:
    client = AdminClient()
    client("PING")
    client("NOSUCH")
    assert client("CONFIG", "RESETSTAT") == "OK"
    stats = client.info("stats", "commandstats", "errorstats", "latencystats")
    assert stats["total_error_replies"] == "0"
    assert "cmdstat_ping" not in stats
    assert "errorstat_ERR" not in stats
    assert "latency_percentiles_usec_ping" not in stats


def test_rewrite_writes_the_file_back(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("timeout 1\n")
    client = AdminClient(Config.load([str(path)]))
    client("CONFIG", "SET", "timeout", "2")
    assert client("CONFIG", "REWRITE") == "OK"
    assert path.read_text() == "timeout 2\n"


def test_rewrite_without_a_file_is_an_error() -> None:
    assert AdminClient()("CONFIG", "REWRITE") == ReplyError(
        "ERR The server is running without a config file"
    )


def test_help_lists_the_subcommands() -> None:
    lines = AdminClient()("CONFIG", "HELP")
    assert lines[0] == "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    assert "GET <pattern>" in lines
    assert lines[-2:] == ["HELP", "    Print this help."]


def test_an_unknown_subcommand_points_at_help() -> None:
    assert AdminClient()("CONFIG", "DANCE") == ReplyError(
        "ERR unknown subcommand 'DANCE'. Try CONFIG HELP."
    )
