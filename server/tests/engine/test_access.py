"""Changed rules apply to a user at once: to the next command, inside EXEC, when a wait ends."""

from __future__ import annotations

import pytest

from testkit.engine_client import BLOCKED, EngineClient, ReplyError

NO_KEY = "NOPERM No permissions to access a key"


def user(admin: EngineClient, *rules: str, name: str = "u") -> EngineClient:
    """A client that is logged in as a user with these rules."""
    assert admin("ACL", "SETUSER", name, "on", "nopass", *rules) == "OK"
    client = admin.new()
    assert client("AUTH", name, "any") == "OK"
    return client


def error_of(reply: object) -> str:
    assert isinstance(reply, ReplyError), reply
    return str(reply)


def test_what_is_not_allowed_is_refused_and_changes_nothing() -> None:
    admin = EngineClient()
    client = user(admin, "+@stream", "~orders:*")
    assert isinstance(client("XADD orders:1 * f v"), bytes)
    assert error_of(client("XADD other * f v")) == NO_KEY
    assert error_of(client("SET orders:1 v")) == (
        "NOPERM User u has no permissions to run the 'set' command"
    )
    assert admin("KEYS *") == [b"orders:1"]


@pytest.mark.parametrize(
    ("rule", "allowed", "refused"),
    [
        ("%R~k", "GET k", "SET k v"),
        ("%W~k", "SET k v", "GET k"),
        ("%W~k", "SET k v", "SET k v GET"),
        ("%R~k", "XREAD STREAMS k 0", "XADD k * f v"),
        ("%W~k", "XADD k * f v", "XRANGE k - +"),
    ],
)
def test_reading_and_writing_a_key_are_allowed_each_for_itself(
    rule: str, allowed: str, refused: str
) -> None:
    client = user(EngineClient(), "+@all", rule)
    assert not isinstance(client(allowed), ReplyError)
    assert error_of(client(refused)) == NO_KEY


@pytest.mark.parametrize("pattern", ["a*", "a?b*", "[a]*"])
def test_a_zero_byte_is_a_byte_like_any_other(pattern: str) -> None:
    client = user(EngineClient(), "+@all", f"~{pattern}")
    assert client("SET", b"a\0b", b"\0") == "OK"
    assert client("GETRANGE", b"a\0b", 0, -1) == b"\0"
    assert error_of(client("SET", b"\0a", b"v")) == NO_KEY
    assert error_of(client("GETRANGE", b"b\0a", 0, -1)) == NO_KEY


@pytest.mark.parametrize("pattern", ["a*" * 400 + "b", "[a-z]*" * 200 + "b", "*a" * 400 + "?b"])
def test_a_pattern_that_tries_to_take_for_ever_does_not(pattern: str) -> None:
    """CVE-2022-36021, CVE-2024-31228: each star multiplied the work, so the match never ended."""
    client = user(EngineClient(), "+@all", f"~{pattern}", f"&{pattern}")
    assert error_of(client("GET", "a" * 5000)) == NO_KEY
    assert error_of(client("PUBLISH", "a" * 5000, "m")).startswith("NOPERM")


def test_a_call_is_allowed_if_one_selector_allows_all_of_it() -> None:
    client = user(EngineClient(), "+get", "~a", "(+set ~b)")
    assert client("GET a") is None
    assert client("SET b 1") == "OK"
    assert error_of(client("GET b")) == NO_KEY
    assert error_of(client("SET a 1")) == NO_KEY


def test_a_changed_user_is_held_to_it_by_its_next_command() -> None:
    admin = EngineClient()
    client = user(admin, "+@all", "~*")
    assert client("SET k v") == "OK"
    admin("ACL SETUSER u -set")
    assert error_of(client("SET k v")).startswith("NOPERM")
    admin("ACL SETUSER u allcommands allkeys allchannels")
    assert client("SET k v") == "OK"
    assert client.session.gate == 0, "a user that may do everything costs nothing"


def test_rules_are_asked_when_a_command_is_queued_and_again_at_exec() -> None:
    admin = EngineClient()
    client = user(admin, "+@all", "~*", "&*", "-acl")
    client("MULTI")
    assert client("SET a 1") == client("SET b 2") == client("PUBLISH c m") == "QUEUED"
    admin("ACL SETUSER u resetkeys ~b -publish")
    replies = client("EXEC")
    reason = (
        "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC "
        "call. This command is no longer allowed for the following reason: no permission to "
    )
    assert error_of(replies[0]) == reason + "touch the specified keys"
    assert replies[1] == "OK"
    assert error_of(replies[2]) == reason + "execute the command or subcommand"
    assert admin("KEYS *") == [b"b"]
    assert {entry[5] for entry in admin("ACL LOG")} == {b"multi"}


def test_a_refused_command_spoils_its_transaction() -> None:
    client = user(EngineClient(), "+@all", "-get", "~*")
    client("MULTI")
    assert error_of(client("GET k")).startswith("NOPERM")
    assert error_of(client("EXEC")).startswith("EXECABORT")


@pytest.mark.parametrize(
    ("line", "wake"),
    [
        ("XREAD BLOCK 0 STREAMS s $", "XADD s * f v"),
        ("XREADGROUP GROUP g c BLOCK 0 STREAMS s >", "XADD s * f v"),
        ("BLPOP l 0", "RPUSH l x"),
    ],
)
def test_who_waits_and_loses_the_right_gets_an_error_instead_of_data(line: str, wake: str) -> None:
    admin = EngineClient()
    admin("XGROUP CREATE s g $ MKSTREAM")
    client = user(admin, "+@all", "~*")
    assert client(line) is BLOCKED
    admin("ACL SETUSER u resetkeys")
    admin(wake)
    assert error_of(client.read()) == NO_KEY


def test_clients_of_a_deleted_user_are_closed_also_while_they_wait() -> None:
    admin = EngineClient()
    clients = [user(admin, "+@all", "~*"), user(admin)]
    assert clients[0]("XREAD BLOCK 0 STREAMS s $") is BLOCKED
    assert admin("ACL DELUSER u") == 1
    assert all(client.session.closing for client in clients)
    assert not admin.session.closing
    admin("XADD s * f v")
    assert clients[0].session.out.take() == b""


def test_who_deletes_itself_gets_its_answer_and_is_closed() -> None:
    client = user(EngineClient(), "+@all", "~*")
    assert client("ACL DELUSER u") == 1
    assert client.session.closing


@pytest.mark.parametrize("line", ["SUBSCRIBE news", "PSUBSCRIBE n*", "SSUBSCRIBE news"])
def test_who_hears_a_channel_that_its_user_lost_is_closed(line: str) -> None:
    admin = EngineClient()
    listener = user(admin, "+@all", "&news", "&n*")
    assert not isinstance(listener(line), ReplyError)
    admin("ACL SETUSER u &more")
    assert not listener.session.closing
    admin("ACL SETUSER u resetchannels &other")
    assert listener.session.closing


def test_who_loses_a_channel_that_it_does_not_hear_stays() -> None:
    admin = EngineClient()
    listener = user(admin, "+@all", "&a", "&b")
    listener("SUBSCRIBE a")
    admin("ACL SETUSER u resetchannels &a")
    assert not listener.session.closing


def test_a_pattern_is_allowed_if_it_is_one_of_the_rules() -> None:
    client = user(EngineClient(), "+@all", "&news*")
    refusal = "NOPERM No permissions to access a channel"
    assert error_of(client("PSUBSCRIBE newsflash*")) == refusal
    assert error_of(client("SUBSCRIBE other")) == refusal
    assert error_of(client("PUBLISH other m")) == refusal
    assert client("PUBLISH newsflash m") == 0
    assert client("PSUBSCRIBE news*")[0] == b"psubscribe"


def test_load_closes_clients_of_users_that_are_gone_and_keeps_the_others() -> None:
    admin = EngineClient()
    gone, kept = user(admin, name="gone"), user(admin, "+@all", "~*", name="kept")

    class File:
        path = "f"

        def read(self) -> list[bytes]:
            return [b"user kept on nopass ~a +@all"]

    admin.engine.services.access_file = File()  # type: ignore[assignment]
    assert admin("ACL LOAD") == "OK"
    assert gone.session.closing
    assert not kept.session.closing
    assert error_of(kept("GET b")) == NO_KEY


def test_default_needs_a_password_as_soon_as_it_has_one() -> None:
    admin = EngineClient()
    assert admin("ACL SETUSER default >x") == "OK"
    stranger = admin.new()
    assert error_of(stranger("GET k")) == "NOAUTH Authentication required."
    assert admin("GET k") is None, "who was in stays in"
    assert stranger("AUTH x") == "OK"
    other = admin.new()
    admin("ACL SETUSER default nopass")
    assert other("GET k") is None
    admin("ACL SETUSER default off")
    assert error_of(other("GET k")) == "NOAUTH Authentication required."


def test_requirepass_is_a_password_of_default() -> None:
    admin = EngineClient(requirepass=b"one")
    assert admin("AUTH one") == "OK"
    admin.configure(requirepass=b"two")
    client = admin.new()
    assert error_of(client("AUTH one")).startswith("WRONGPASS")
    assert client("AUTH default two") == "OK"
    admin.configure(requirepass=b"")
    assert admin.new()("PING") == "PONG"


@pytest.mark.parametrize(
    "login", ["AUTH u wrong", "AUTH nobody x", "AUTH off x", "HELLO 3 AUTH u y"]
)
def test_a_wrong_pair_says_nothing_about_what_is_wrong(login: str) -> None:
    admin = EngineClient()
    admin("ACL SETUSER u on >right")
    admin("ACL SETUSER off off nopass")
    client = admin.new()
    wrong = "WRONGPASS invalid username-password pair or user is disabled."
    assert error_of(client(login)) == wrong
    assert admin.engine.stats.denied == {b"auth": 1}


def test_hello_logs_in_and_reset_logs_out() -> None:
    admin = EngineClient()
    admin("ACL SETUSER u on >x +acl|whoami")
    client = admin.new()
    assert isinstance(client("HELLO 2 AUTH u x"), list)
    assert client("ACL WHOAMI") == b"u"
    assert client("RESET") == "RESET"
    assert client("ACL WHOAMI") == b"default"


def test_sort_looks_up_other_keys_only_for_who_may_read_all() -> None:
    admin = EngineClient()
    admin("RPUSH l 1 2")
    client = user(admin, "+sort", "~l")
    denied = "ERR {} option of SORT denied due to insufficient ACL permissions."
    assert error_of(client("SORT l BY w_*")) == denied.format("BY")
    assert error_of(client("SORT l GET w_*")) == denied.format("GET")
    assert client("SORT l BY nosort") == [b"1", b"2"]
    admin("ACL SETUSER u %R~*")
    assert client("SORT l GET #") == [b"1", b"2"]


def test_a_script_may_do_what_its_user_may() -> None:
    admin = EngineClient()
    lines = ('if redis.call("get",KEYS[1]) == ARGV[1] then', '    return redis.call("del",KEYS[1])')
    text = "\n".join([*lines, "else", "    return 0", "end"])
    assert admin("EVAL", text, 1, "lock", "token") == 0
    client = user(admin, "+eval", "~lock")
    reply = error_of(client("EVAL", text, 1, "lock", "token"))
    assert reply.startswith("ERR ACL failure in script: User u has no permissions to run the 'get'")
    assert admin("ACL LOG")[0][5] == b"lua"


def test_no_password_is_shown_to_monitor_or_the_slow_log() -> None:
    admin = EngineClient(slowlog_slower_than_us=0)
    watcher = admin.new()
    watcher("MONITOR")
    admin("ACL SETUSER u on >secret")
    admin.new()("AUTH u secret")
    admin.new()("HELLO 3 AUTH u secret")
    admin("ACL DELUSER u")
    shown = watcher.session.out.take() + repr(admin("SLOWLOG GET 50")).encode()
    assert b"secret" not in shown
    assert b"(redacted)" in shown


def test_kill_by_user_ends_the_clients_of_that_user() -> None:
    admin = EngineClient()
    client = user(admin)
    assert error_of(admin("CLIENT KILL USER nobody")) == "ERR No such user 'nobody'"
    assert admin("CLIENT KILL USER u") == 1
    assert client.session.closing


def test_each_password_of_a_user_opens_the_door_until_it_is_taken_away() -> None:
    admin = EngineClient()
    admin("ACL SETUSER u on >one >two >three")
    for word in ("one", "two", "three"):
        assert admin.new()("AUTH", "u", word) == "OK"
    admin("ACL SETUSER u <two")
    assert error_of(admin.new()("AUTH u two")).startswith("WRONGPASS")
    assert admin.new()("AUTH u one") == "OK"
    admin("ACL SETUSER u resetpass")
    assert error_of(admin.new()("AUTH u one")).startswith("WRONGPASS")
    admin("ACL SETUSER u nopass")
    assert admin.new()("AUTH u whatever") == "OK"
    admin("ACL SETUSER u off")
    assert error_of(admin.new()("AUTH u whatever")).startswith("WRONGPASS")
