"""ACL: the answers of each subcommand.  compat/test_acl.py compares rules with those of Redis."""

from __future__ import annotations

import pytest

from testkit.engine_client import EngineClient, ReplyError

OK = "OK"
HASH_OF_X = b"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
DEFAULT_LINE = b"user default on nopass sanitize-payload ~* &* +@all"


class ListFile:
    """An ACL file in memory."""

    def __init__(self, *lines: bytes) -> None:
        self.path = "users.acl"
        self.lines = list(lines)

    def read(self) -> list[bytes]:
        return self.lines

    def write(self, lines: list[bytes]) -> None:
        self.lines = lines


def error_of(reply: object) -> str:
    assert isinstance(reply, ReplyError), reply
    return str(reply)


def test_there_is_one_user_at_first_and_it_may_do_everything() -> None:
    client = EngineClient()
    assert client("ACL LIST") == [DEFAULT_LINE]
    assert client("ACL USERS") == [b"default"]
    assert client("ACL WHOAMI") == b"default"


def test_a_new_user_may_do_nothing() -> None:
    client = EngineClient()
    assert client("ACL SETUSER alice") == OK
    assert client("ACL USERS") == [b"alice", b"default"]
    assert client("ACL LIST")[0] == b"user alice off sanitize-payload resetchannels -@all"


def test_getuser_tells_every_part_of_a_user() -> None:
    client = EngineClient()
    client("ACL SETUSER alice on >x ~a %R~b &c +@stream -xtrim (+get ~q)")
    told = client("ACL GETUSER alice")
    assert dict(zip(told[::2], told[1::2], strict=True)) == {
        b"flags": [b"on", b"sanitize-payload"],
        b"passwords": [HASH_OF_X],
        b"commands": b"-@all +@stream -xtrim",
        b"keys": b"~a %R~b",
        b"channels": b"&c",
        b"selectors": [[b"commands", b"-@all +get", b"keys", b"~q", b"channels", b""]],
    }
    assert client("ACL GETUSER nobody") is None


def test_a_line_with_a_wrong_rule_changes_nothing() -> None:
    client = EngineClient()
    client("ACL SETUSER alice on +get")
    before = client("ACL LIST")
    wrong = error_of(client("ACL SETUSER alice off +set +nosuch"))
    assert wrong == (
        "ERR Error in ACL SETUSER modifier '+nosuch': Unknown command or category name in ACL"
    )
    assert client("ACL LIST") == before


@pytest.mark.parametrize("name", ["a b", "a\tb", "a\0b"])
def test_a_name_has_no_blanks(name: str) -> None:
    reply = EngineClient()("ACL", "SETUSER", name, "on")
    assert error_of(reply) == "ERR Usernames can't contain spaces or null characters"


def test_deluser_counts_and_does_not_take_default() -> None:
    client = EngineClient()
    client("ACL SETUSER a")
    assert client("ACL DELUSER a b") == 1
    wrong = error_of(client("ACL DELUSER a default"))
    assert wrong == "ERR The 'default' user cannot be removed"


def test_cat_lists_categories_and_their_commands() -> None:
    client = EngineClient()
    assert b"stream" in client("ACL CAT")
    commands = client("ACL CAT stream")
    assert {b"xadd", b"xinfo|stream"} <= set(commands)
    assert error_of(client("ACL CAT nosuch")) == "ERR Unknown category 'nosuch'"


@pytest.mark.parametrize(("bits", "digits"), [(None, 64), (1, 1), (4, 1), (5, 2), (4096, 1024)])
def test_genpass_gives_so_many_digits(bits: int | None, digits: int) -> None:
    client = EngineClient()
    reply = client("ACL", "GENPASS", *([] if bits is None else [bits]))
    assert len(reply) == digits
    assert set(reply) <= set(b"0123456789abcdef")


@pytest.mark.parametrize("bits", ["0", "-5", "4097"])
def test_genpass_has_limits(bits: str) -> None:
    assert "a positive number up to 4096" in error_of(EngineClient()("ACL", "GENPASS", bits))


def test_dryrun_says_what_would_be_refused() -> None:
    client = EngineClient()
    client("ACL SETUSER u +get +publish ~a*")
    assert client("ACL DRYRUN u get abc") == OK
    refused = b"User u has no permissions to access the 'b' key"
    assert client("ACL DRYRUN u get b") == refused
    assert client("ACL DRYRUN u set a 1") == b"User u has no permissions to run the 'set' command"
    told = client("ACL DRYRUN u publish c m")
    assert told == b"User u has no permissions to access the 'c' channel"
    assert error_of(client("ACL DRYRUN w get a")) == "ERR User 'w' not found"
    assert error_of(client("ACL DRYRUN u nosuch")) == "ERR Command 'nosuch' not found"
    wrong = error_of(client("ACL DRYRUN u get"))
    assert wrong == "ERR wrong number of arguments for 'get' command"


def test_log_has_the_newest_first_counts_what_repeats_and_can_be_emptied() -> None:
    client = EngineClient()
    client("ACL SETUSER u on nopass +get ~a")
    other = client.new()
    other("AUTH u any")
    for line in ("GET b", "GET b", "SET a 1"):
        other(line)
    log = [dict(zip(entry[::2], entry[1::2], strict=True)) for entry in client("ACL LOG")]
    seen = [(entry[b"reason"], entry[b"object"], entry[b"count"]) for entry in log]
    assert seen == [(b"command", b"set", 1), (b"key", b"b", 2)]
    assert all(entry[b"username"] == b"u" for entry in log)
    assert b"cmd=set user=u" in log[0][b"client-info"]
    assert len(client("ACL LOG 1")) == 1
    assert client("ACL LOG -1") == []
    assert client("ACL LOG RESET") == OK
    assert client("ACL LOG") == []


def test_refusals_a_minute_apart_are_two_entries() -> None:
    client = EngineClient()
    for _ in range(2):
        client("AUTH nobody x")
        client.sleep(60_001)
    assert [entry[1] for entry in client("ACL LOG")] == [1, 1]


def test_the_log_keeps_as_many_as_it_may() -> None:
    client = EngineClient(acllog_max_len=2)
    for name in "abc":
        client("AUTH", name, "x")
    assert [entry[9] for entry in client("ACL LOG")] == [b"c", b"b"]
    client.configure(acllog_max_len=0)
    client("AUTH d x")
    assert client("ACL LOG") == []


def test_load_and_save_need_a_file() -> None:
    client = EngineClient()
    for word in ("LOAD", "SAVE"):
        assert "not configured to use an ACL file" in error_of(client("ACL", word))


def test_save_writes_the_lines_and_load_takes_them_back() -> None:
    client = EngineClient()
    file = client.engine.services.access_file = ListFile()
    client("ACL SETUSER alice on >x ~a* +@read (+set ~b)")
    saved = client("ACL LIST")
    assert client("ACL SAVE") == OK
    assert file.lines == saved
    client("ACL DELUSER alice")
    client("ACL SETUSER bob")
    assert client("ACL LOAD") == OK
    assert client("ACL LIST") == saved


def test_load_says_every_line_that_is_wrong_and_changes_nothing() -> None:
    client = EngineClient()
    lines = [b"user a on +nosuch", b"", b"bob", b"user a", b"user c (+get", b"user d >x foo bar"]
    client.engine.services.access_file = ListFile(*lines)
    wrong = error_of(client("ACL LOAD"))
    for part in (
        "users.acl:1: Error in applying operation '+nosuch': Unknown command",
        "users.acl:3 should start with user keyword",
        "Duplicate user 'a' found on line 4",
        "users.acl:5: Unmatched parenthesis",
        "users.acl:6: Syntax error. WARNING: ACL errors detected",
    ):
        assert part in wrong
    assert client("ACL USERS") == [b"default"]


def test_a_file_without_default_opens_default() -> None:
    client = EngineClient(requirepass=b"secret")
    client("AUTH secret")
    client.engine.services.access_file = ListFile(b"user a on nopass")
    assert client("ACL LOAD") == OK
    assert client("ACL LIST")[1] == DEFAULT_LINE


def test_help_names_the_subcommands() -> None:
    lines = EngineClient()("ACL HELP")
    assert any("SETUSER" in str(line) for line in lines)
