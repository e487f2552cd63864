"""Replaying an AOF gives the same data, at another time and without side effects."""

from __future__ import annotations

from random import Random

import pytest

from forebay.commands.api.settings import Settings
from forebay.core.check import check_keyspace
from forebay.engine.engine import Engine
from forebay.engine.expiring import expire
from forebay.engine.replay import Replayer
from forebay.errors import CorruptDataError
from server.tests.support.keyspace_events import listen
from testkit.compat.generic_commands import random_command
from testkit.compat.scripts import ScriptWriter
from testkit.compat.string_commands import random_command as random_string_command
from testkit.engine_client import EngineClient
from testkit.portrait import portrait
from testkit.resp import encode

MUCH_LATER_MS = 1 << 42


def replay(log: bytes, now_ms: int = MUCH_LATER_MS, *, skip_foreign: bool = False) -> Replayer:
    replayer = Replayer(Engine(Settings()), skip_foreign)
    replayer.begin()
    replayer.run(log, 0, len(log), now_ms)
    replayer.end()
    return replayer


def assert_same_data(client: EngineClient, replayer: Replayer) -> None:
    check_keyspace(replayer.engine.keyspace)
    want = portrait(client.engine.keyspace)
    got = portrait(replayer.engine.keyspace)
    assert got == want


def is_history_read(command: list[str]) -> bool:
    """Whether a command reads pending entries again: it counts a delivery that no AOF records."""
    words = [word.upper() for word in command]
    if words[0] != "XREADGROUP" or "STREAMS" not in words:
        return False
    keys_and_ids = words[words.index("STREAMS") + 1 :]
    return any(word != ">" for word in keys_and_ids[len(keys_and_ids) // 2 :])


@pytest.mark.parametrize("seed", range(20))
def test_a_random_script_of_stream_commands_is_rebuilt_from_its_aof(seed: int) -> None:
    client = EngineClient()
    for command in ScriptWriter(seed, deletes=seed % 2 == 0).script(300, 2):
        if not is_history_read(command):
            client.raw(*command)
    assert_same_data(client, replay(client.engine.effects.take()))


def newer_command(dice: Random) -> str:
    """A command that Redis has since 8.2, on few IDs, or one that adds data for it."""
    key, group, some_id = dice.choice("st"), dice.choice("gh"), f"{dice.randint(1, 30)}-0"
    message = f"p{dice.randint(1, 2)} m{dice.randint(1, 9)}"
    policy = dice.choice(("KEEPREF", "DELREF", "ACKED"))
    return dice.choice(
        (
            f"XADD {key} IDMP {message} * f v",
            f"XADD {key} IDMPAUTO p f {dice.randint(1, 5)} * f {dice.randint(1, 5)}",
            f"XADD {key} {policy} MAXLEN {dice.randint(3, 20)} * f v",
            f"XREADGROUP GROUP {group} {dice.choice('ab')} COUNT 3 STREAMS {key} >",
            f"XREADGROUP GROUP {group} c CLAIM {dice.randint(0, 99)} COUNT 4 STREAMS {key} >",
            f"XNACK {key} {group} {dice.choice(('SILENT', 'FAIL', 'FATAL'))} IDS 1 {some_id}",
            f"XNACK {key} {group} FAIL IDS 1 {some_id} RETRYCOUNT {dice.randint(0, 9)} FORCE",
            f"XACKDEL {key} {group} {policy} IDS 1 {some_id}",
            f"XDELEX {key} {policy} IDS 1 {some_id}",
            f"XAUTOCLAIM {key} {group} d {dice.randint(0, 50)} 0 COUNT 3",
            f"XCFGSET {key} IDMP-DURATION {dice.randint(1, 3)} IDMP-MAXSIZE {dice.randint(1, 9)}",
        )
    )


@pytest.mark.parametrize("seed", range(30))
def test_a_random_script_of_newer_commands_is_rebuilt_from_its_aof(seed: int) -> None:
    dice = Random(seed)
    client = EngineClient(now_ms=1)
    for key in "st":
        client(f"XGROUP CREATE {key} g 0 MKSTREAM")
        client(f"XGROUP CREATE {key} h 0")
    for _ in range(300):
        client.raw(newer_command(dice))
        client.now_ms += dice.randint(0, 1)
    assert_same_data(client, replay(client.engine.effects.take()))


@pytest.mark.parametrize("seed", range(20))
def test_random_commands_on_other_keys_are_rebuilt_from_their_aof(seed: int) -> None:
    dice = Random(seed)
    client = EngineClient(now_ms=1_700_000_000_000)
    for _ in range(400):
        client.raw(*random_command(dice))
        if client.session.blocked is not None:
            client.engine.blocking.drop(client.session)
        client.sleep(dice.choice((0, 0, 1, 50)))
    log = client.engine.effects.take()
    expire(client.engine, client.now_ms)
    assert_same_data(client, replay(log + client.engine.effects.take()))


@pytest.mark.parametrize("seed", range(30))
def test_random_commands_on_strings_are_rebuilt_from_their_aof(seed: int) -> None:
    dice = Random(seed)
    client = EngineClient(now_ms=1_700_000_000_000)
    for _ in range(400):
        words = random_string_command(dice, newer=True)
        if words[0].upper() in ("SET", "MSETEX") and dice.random() < 0.3:
            words += ["PX", str(dice.randint(1, 200))]
        client.raw(*words)
        client.now_ms += dice.choice((0, 0, 1, 50))
    log = client.engine.effects.take()
    expire(client.engine, client.now_ms)
    assert_same_data(client, replay(log + client.engine.effects.take()))


def test_a_key_whose_time_was_taken_away_outlives_it_in_the_replay() -> None:
    client = EngineClient()
    client("SET", "k", "v")
    client("PEXPIRE", "k", 1000)
    client("PERSIST", "k")
    client("APPEND", "k", "w")
    assert_same_data(client, replay(client.engine.effects.take()))


def test_a_restored_key_outlives_its_time_in_the_replay_too() -> None:
    client = EngineClient()
    client("SET", "k", "v")
    payload = client("DUMP", "k")
    client("RESTORE", "l", 1000, payload)
    client("PERSIST", "l")
    assert_same_data(client, replay(client.engine.effects.take()))


def test_a_time_that_is_past_by_now_is_kept_until_the_aof_says_del() -> None:
    client = EngineClient()
    client("SET", "k", "v", "PX", 1000)
    replayer = replay(client.engine.effects.take())
    assert portrait(replayer.engine.keyspace)[0, b"k"] == (client.now_ms + 1000, b"v")


def test_a_message_sent_again_after_it_was_forgotten_becomes_a_second_entry() -> None:
    client = EngineClient()
    client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    client("XADD", "s", "IDMP", "p", "other", "*", "f", "v")
    client.sleep(200_000)
    client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    stream = replay(client.engine.effects.take()).engine.keyspace.databases[0].values[b"s"]
    assert (stream.length, stream.iids_added, stream.iids_duplicates) == (3, 3, 1)
    assert list(stream.idmp.producers[b"p"])[-1] == b"m"


def test_a_transaction_is_replayed_command_by_command() -> None:
    client = EngineClient()
    for line in ("MULTI", "SET a 1", "INCR a", "XADD s 1-1 f v", "EXEC"):
        client(line)
    replayer = replay(client.engine.effects.take())
    assert_same_data(client, replayer)
    assert replayer.commands == 4


def test_a_replay_leaves_no_record_no_event_and_no_statistics() -> None:
    replayer = Replayer(Engine(Settings()))
    engine = replayer.engine
    engine.effects.enabled = True
    replayer.begin()
    log = encode("SET", "k", "v")
    replayer.run(log, 0, len(log), 1)
    replayer.end()
    assert engine.effects.take() == b""
    assert engine.effects.enabled
    assert engine.stats.commands == 0


def test_a_question_of_an_administrator_during_the_load_sends_no_events_of_old_writes() -> None:
    client = EngineClient()
    events = listen(client)
    replayer = Replayer(client.engine)
    replayer.begin()
    assert client("SLOWLOG", "LEN") == 0
    log = encode("SET", "k", "v")
    replayer.run(log, 0, len(log), MUCH_LATER_MS)
    assert events() == []
    replayer.end()
    client("SET", "k", "w")
    assert events() == [(0, "set", "k")]


def refusal(*commands: str | bytes, skip_foreign: bool = False) -> tuple[int, str]:
    """Where a replay of these lines stops, and why."""
    log = b"".join(c if isinstance(c, bytes) else encode(*c.split()) for c in commands)
    replayer = Replayer(Engine(Settings()), skip_foreign)
    replayer.begin()
    with pytest.raises(CorruptDataError) as raised:
        replayer.run(log, 0, len(log), MUCH_LATER_MS)
    return replayer.at, str(raised.value)


def test_an_unknown_command_stops_the_replay_and_says_how_to_leave_it_out() -> None:
    at, text = refusal("SET k v", "HSET h f v", "SET l w")
    assert at == len(encode("SET", "k", "v"))
    assert "'HSET h f v' is not known here" in text
    assert "skip-foreign-types yes" in text


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("SET k 2 NOSUCH", "'SET k 2 NOSUCH' is answered with 'ERR syntax error'"),
        ("XADD k 1-1 f v", "'XADD k 1-1 f v' is answered with 'WRONGTYPE "),
        ("XGROUP CREATE s g 0", "'XGROUP CREATE s g 0' is answered with 'ERR "),
        ("SELECT 99", "'SELECT 99' is answered with 'ERR DB index is out of range'"),
        ("RESTORE r 0 abc", "'RESTORE r 0 abc' is answered with 'ERR DUMP payload "),
        ("NOSUCH a b", "'NOSUCH a b' is not known here"),
        ("SET k", "'SET k' is not known here"),
        ("XGROUP NOSUCH k", "'XGROUP NOSUCH k' is not known here"),
        ("EVAL return 0", "'EVAL return 0'"),
        ("FCALL f 1 k", "'FCALL f 1 k' is not known here"),
        ("PFADD k v", "'PFADD k v' is not known here"),
    ],
)
@pytest.mark.parametrize("skip_foreign", [False, True])
def test_a_command_that_cannot_be_run_stops_the_replay(
    line: str, reason: str, skip_foreign: bool
) -> None:
    at, text = refusal("SET k 1", line, skip_foreign=skip_foreign)
    assert at == len(encode("SET", "k", "1"))
    assert reason in text
    assert "BGREWRITEAOF" in text


def test_a_long_command_is_shown_in_part() -> None:
    _, text = refusal(encode("NOSUCH", "x" * 1000, b"\r\n\xff", *"abcdefgh"))
    assert f"'NOSUCH {'x' * 40} \\r\\n\\xff a b c' and 5 words more" in text


def test_a_replay_waits_for_nothing() -> None:
    replayer = replay(encode("BLPOP", "k", "0") + encode("RPUSH", "k", "v"))
    assert list(replayer.engine.keyspace.databases[0].values[b"k"]) == [b"v"]


def test_bytes_that_end_within_a_command_are_refused() -> None:
    log = encode("SET", "k", "v")
    with pytest.raises(CorruptDataError, match="cut off"):
        replay(log[:-3])
