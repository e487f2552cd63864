"""SLOWLOG."""

from tests.support.admin_client import AdminClient
from tests.support.resp import ReplyError


def logging_all() -> AdminClient:
    client = AdminClient(slowlog_slower_than_us=0)
    client("CLIENT", "SETNAME", "tester")
    client("SLOWLOG", "RESET")
    return client


def test_an_entry_has_six_fields_and_the_newest_comes_first() -> None:
    client = logging_all()
    client("ECHO", "one")
    client("ECHO", "two")
    entries = client("SLOWLOG", "GET", "2")
    assert [len(entry) for entry in entries] == [6, 6]
    number, at_s, usec, argv, addr, name = entries[0]
    assert (argv, addr, name) == ([b"ECHO", b"two"], b"127.0.0.1:50000", b"tester")
    assert at_s == client.now_ms // 1000
    assert usec >= 0
    assert number == entries[1][0] + 1


def test_get_answers_ten_by_default_and_all_for_minus_one() -> None:
    client = logging_all()
    for _ in range(15):
        client("PING")
    assert len(client("SLOWLOG", "GET")) == 10
    assert len(client("SLOWLOG", "GET", "-1")) > 15
    assert client("SLOWLOG", "GET", "0") == []


def test_a_count_below_minus_one_or_no_number_is_refused() -> None:
    for count in ("-2", "many"):
        assert logging_all()("SLOWLOG", "GET", count) == ReplyError(
            "ERR count should be greater than or equal to -1"
        )


def test_the_log_is_no_longer_than_slowlog_max_len() -> None:
    client = logging_all()
    client("CONFIG", "SET", "slowlog-max-len", "3")
    for _ in range(5):
        client("PING")
    assert client("SLOWLOG", "LEN") == 3


def test_one_count_is_enough() -> None:
    assert logging_all()("SLOWLOG", "GET", "1", "2") == ReplyError(
        "ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP."
    )


def test_reset_empties_it() -> None:
    client = logging_all()
    client("PING")
    client.configure(slowlog_slower_than_us=-1)
    assert client("SLOWLOG", "RESET") == "OK"
    assert client("SLOWLOG", "LEN") == 0


def test_long_arguments_are_cut() -> None:
    client = logging_all()
    client("ECHO", b"x" * 1000)
    argv = client("SLOWLOG", "GET", "1")[0][3]
    assert argv[1] == b"x" * 128 + b"... (872 more bytes)"


def test_help_says_what_an_entry_holds() -> None:
    assert "    client name" in logging_all()("SLOWLOG", "HELP")
