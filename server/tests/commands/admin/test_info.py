"""INFO: sections, fields and numbers."""

import pytest

import forebay
from server.tests.support.admin_client import AdminClient
from server.tests.support.names import NAMES, words
from testkit.resp import ReplyError

#: The sections of redis-server 8.6.3, in its order, except those about hot keys and key sizes.
HEADINGS = (
    "Server Clients Memory Persistence Threads Stats Replication CPU Modules Commandstats"
    " Errorstats Latencystats Cluster Keyspace"
)

#: Fields that exist only while the AOF is on.
NEED_A_LOG = {
    "aof_current_size",
    "aof_base_size",
    "aof_pending_rewrite",
    "aof_buffer_length",
    "aof_pending_bio_fsync",
    "aof_delayed_fsync",
}


def headings(text: bytes) -> list[str]:
    return [line[2:] for line in text.decode().split("\r\n") if line.startswith("# ")]


def test_everything_has_all_sections_in_the_usual_order() -> None:
    client = AdminClient()
    assert headings(client("INFO", "everything")) == HEADINGS.split()
    assert headings(client("INFO", "ALL")) == HEADINGS.split()


def test_the_default_leaves_out_the_statistics_by_command() -> None:
    client = AdminClient()
    expected = [name for name in HEADINGS.split() if name not in ("Commandstats", "Latencystats")]
    assert headings(client("INFO")) == expected
    assert headings(client("INFO", "default")) == expected


def test_sections_may_be_named_in_any_order_and_case_and_more_than_once() -> None:
    client = AdminClient()
    assert headings(client("INFO", "keyspace", "SERVER", "server", "nosuch")) == [
        "Server",
        "Keyspace",
    ]
    assert headings(client("INFO", "default", "commandstats"))[-4:] == [
        "Commandstats",
        "Errorstats",
        "Cluster",
        "Keyspace",
    ]


def test_an_unknown_section_is_empty() -> None:
    assert AdminClient()("INFO", "nosuch") == b""


def test_sections_are_separated_by_an_empty_line() -> None:
    text = AdminClient()("INFO", "cluster", "keyspace")
    assert text == b"# Cluster\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n"


def test_it_is_a_verbatim_string_in_resp3() -> None:
    client = AdminClient()
    client("HELLO", "3")
    assert client.raw("INFO", "cluster").startswith(b"=")


@pytest.mark.parametrize("section", NAMES["info"])
def test_every_field_of_redis_is_there_in_its_section_and_order(section: str) -> None:
    client = AdminClient()
    client("SET", "k", "v")
    ours = [name for name in client.info(section) if name in words(NAMES["info"][section])]
    files = {name for name in words(NAMES["info"][section]) if name in NEED_A_LOG}
    assert ours == [name for name in words(NAMES["info"][section]) if name not in files]


def test_listeners_are_named_in_the_order_of_redis() -> None:
    fields = AdminClient(bind=("127.0.0.1", "-::1"), port=7, unixsocket="/tmp/s").info("server")
    assert fields["listener0"] == "name=tcp,bind=127.0.0.1,bind=-::1,port=7"
    assert fields["listener1"] == "name=unix,bind=/tmp/s"
    fields = AdminClient(port=0, unixsocket="/tmp/s").info("server")
    assert fields["listener0"] == "name=unix,bind=/tmp/s"
    assert "listener1" not in fields


def test_keys_that_expired_unasked_are_counted_apart() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    for key in ("asked", "unasked"):
        client("SET", key, "v", "PX", "5")
    client.now_ms += 10
    assert client("GET", "asked") is None
    client.sleep(1000)
    fields = client.info("stats")
    assert (fields["expired_keys"], fields["expired_keys_active"]) == ("2", "1")


def test_wrong_passwords_are_counted_and_resetstat_leaves_them() -> None:
    client = AdminClient(requirepass=b"secret")
    client("AUTH", "wrong")
    client("AUTH", "nobody", "secret")
    client("HELLO", "3", "AUTH", "default", "wrong")
    client("AUTH", "secret")
    assert client.info("stats")["acl_access_denied_auth"] == "3"
    client("CONFIG", "RESETSTAT")
    assert client.info("stats")["acl_access_denied_auth"] == "3"


def test_the_time_of_commands_counts_those_of_a_transaction_once() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    before = int(client.info("stats")["eventloop_duration_cmd_sum"])
    client.engine.call_counts.ran(client.engine.commands[b"exec"], 1000)
    client.engine.call_counts.ran(client.engine.commands[b"get"], 900)
    assert int(client.info("stats")["eventloop_duration_cmd_sum"]) - before == 900


def test_server_tells_both_versions_and_the_build() -> None:
    fields = AdminClient().info("server")
    assert fields["redis_version"] == "8.10.0"
    assert fields["redis_mode"] == "standalone"
    assert fields["forebay_version"] == forebay.__version__
    assert fields["forebay_build"] == ("compiled" if forebay.compiled() else "interpreted")
    assert len(fields["run_id"]) == 40


def test_clients_counts_who_is_blocked_and_on_how_many_keys() -> None:
    client = AdminClient()
    waiting = client.new()
    waiting("XREAD", "BLOCK", "0", "STREAMS", "a", "b", "$", "$")
    client("SUBSCRIBE", "news")
    text = client.new()("INFO", "clients").decode()
    fields = dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)
    assert fields["connected_clients"] == "3"
    assert fields["blocked_clients"] == "1"
    assert fields["total_blocking_keys"] == "2"
    assert fields["total_blocking_keys_on_nokey"] == "0"
    assert fields["pubsub_clients"] == "1"


def test_memory_has_bytes_and_sizes_for_people() -> None:
    fields = AdminClient(maxmemory=1536).info("memory")
    assert fields["used_memory"] == str(10 << 20)
    assert fields["used_memory_human"] == "10.00M"
    assert fields["used_memory_peak"] == str(20 << 20)
    assert fields["used_memory_peak_time"] == "1700000000"
    assert fields["used_memory_startup"] == str(1 << 20)
    assert fields["mem_fragmentation_ratio"] == "3.00"
    assert fields["maxmemory_human"] == "1.50K"
    assert fields["used_memory_lua_human"] == "0B"


def test_stats_count_commands_errors_hits_and_misses() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    client("SET", "k", "v")
    client("GET", "k")
    client("GET", "nokey")
    client("NOSUCH")
    client("XADD", "k", "*", "f", "v")
    fields = client.info("stats")
    assert fields["total_commands_processed"] == "5"
    assert fields["keyspace_hits"] == "1"
    assert fields["keyspace_misses"] == "1"
    assert fields["total_error_replies"] == "2"
    assert fields["total_net_input_bytes"] == "100"


def test_commandstats_tell_calls_failures_and_rejections() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    client("SET", "k", "v")
    assert isinstance(client("XADD", "k", "*", "f", "v"), ReplyError)
    client("XADD", "k")
    client("XGROUP", "HELP")
    fields = client.info("commandstats")
    assert fields["cmdstat_set"].startswith("calls=1,usec=")
    assert fields["cmdstat_xadd"].startswith("calls=1,")
    assert fields["cmdstat_xadd"].endswith("rejected_calls=1,failed_calls=1")
    assert "cmdstat_xgroup|help" in fields
    assert "cmdstat_xlen" not in fields


def test_errorstats_count_by_the_first_word() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    client("NOSUCH")
    client("SET", "k", "v")
    client("XADD", "k", "*", "f", "v")
    fields = client.info("errorstats")
    assert fields == {"errorstat_ERR": "count=1", "errorstat_WRONGTYPE": "count=1"}


def test_latencystats_print_the_percentiles_that_are_configured() -> None:
    client = AdminClient()
    client("CONFIG", "RESETSTAT")
    client.engine.call_counts.ran(client.engine.commands[b"xlen"], 7)
    name = "latency_percentiles_usec_xlen"
    assert client.info("latencystats")[name] == "p50=7.000,p99=7.000,p99.9=7.000"
    client("CONFIG", "SET", "latency-tracking-info-percentiles", "100")
    assert client.info("latencystats")[name] == "p100=7.000"
    client("CONFIG", "SET", "latency-tracking", "no")
    assert client.info("latencystats") == {}


def test_keyspace_lists_databases_with_keys() -> None:
    client = AdminClient()
    client("SET", "k", "v")
    client("SET", "e", "v", "PX", "5000")
    client("SELECT", "9")
    client("SET", "k", "v")
    assert client.info("keyspace") == {
        "db0": "keys=2,expires=1,avg_ttl=5000,subexpiry=0",
        "db9": "keys=1,expires=0,avg_ttl=0,subexpiry=0",
    }
