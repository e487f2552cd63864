"""SLOWLOG."""

from server.tests.support.admin_client import AdminClient
from testkit.resp import ReplyError


def logging_all() -> AdminClient:
    client = AdminClient(slowlog_slower_than_us=0)
    client("CLIENT", "SETNAME", "tester")
    client("SLOWLOG", "RESET")
    return client


def test_an_entry_has_seven_fields_and_the_newest_comes_first() -> None:
    client = logging_all()
    client("ECHO", "one")
    client("ECHO", "two")
    entries = client("SLOWLOG", "GET", "2")
    assert [len(entry) for entry in entries] == [7, 7]
    number, at_s, usec, argv, addr, name, argc = entries[0]
    assert argc == 2
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


def test_many_arguments_are_cut_and_their_number_is_kept() -> None:
    client = logging_all()
    client("SADD", "s", *range(31))
    *_, argc = client("SLOWLOG", "GET", "1")[0]
    assert argc == 33
    argv = client("SLOWLOG", "GET", "2")[1][3]
    assert len(argv) == 32
    assert argv[-1] == b"... (2 more arguments)"


def test_how_much_of_a_command_is_kept_can_be_set() -> None:
    client = logging_all()
    assert client("CONFIG", "SET", "slowlog-entry-max-argc", "3") == "OK"
    assert client("CONFIG", "SET", "slowlog-entry-max-string-len", "4") == "OK"
    client("SADD", "s", "123456", "x", "y")
    entry = client("SLOWLOG", "GET", "1")[0]
    assert entry[3] == [b"SADD", b"s", b"... (3 more arguments)"]
    assert entry[6] == 5
    client("ECHO", "123456")
    assert client("SLOWLOG", "GET", "1")[0][3] == [b"ECHO", b"1234... (2 more bytes)"]
    assert "between 2 and" in str(client("CONFIG", "SET", "slowlog-entry-max-argc", "1"))


def test_help_says_what_an_entry_holds() -> None:
    assert "    client name, total number of arguments" in logging_all()("SLOWLOG", "HELP")
