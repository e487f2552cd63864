"""Which commands run while data is loaded or old, the disk fails or replicas are missing, and the
errors of the others.
"""

from __future__ import annotations

import pytest

from forebay.commands.api import gates
from testkit.engine_client import EngineClient, ReplyError

STILL_LOADING = "LOADING Redis is loading the dataset in memory"


def loading() -> EngineClient:
    client = EngineClient()
    client.engine.set_gate(gates.LOADING, True)
    return client


@pytest.mark.parametrize("line", ["GET k", "XADD s * f v", "PING", "DBSIZE", "XLEN s"])
def test_a_command_that_needs_the_data_is_refused_while_it_is_loaded(line: str) -> None:
    reply = loading()(line)
    assert isinstance(reply, ReplyError)
    assert str(reply) == STILL_LOADING


@pytest.mark.parametrize("line", ["SELECT 0", "CLIENT GETNAME", "MULTI", "SUBSCRIBE c"])
def test_a_command_that_does_not_need_the_data_runs_while_it_is_loaded(line: str) -> None:
    assert not isinstance(loading()(line), ReplyError)


def test_no_key_runs_out_of_time_while_the_data_is_loaded() -> None:
    client = EngineClient()
    client("SET", "k", "v", "PX", 10)
    client.engine.set_gate(gates.LOADING, True)
    client.sleep(1000)
    assert b"k" in client.engine.keyspace.databases[0].values
    client.engine.set_gate(gates.LOADING, False)
    client.sleep(1000)
    assert b"k" not in client.engine.keyspace.databases[0].values


def test_writes_and_ping_are_refused_while_the_disk_is_ill_and_reads_are_not() -> None:
    client = EngineClient()
    client("SET", "k", "v")
    why = "MISCONF Errors writing to the AOF file: No space left on device"
    client.engine.misconf_text = why.encode()
    client.engine.set_gate(gates.MISCONF, True)
    for line in ("SET k w", "XADD s * f v", "DEL k", "PING"):
        assert (
            str(client(line)) == "MISCONF Errors writing to the AOF file: No space left on device"
        )
    assert client("GET k") == b"v"
    client.engine.set_gate(gates.MISCONF, False)
    assert client("SET k w") == "OK"


def test_a_transaction_with_a_write_is_refused_as_a_whole_while_the_disk_is_ill() -> None:
    client = EngineClient()
    client("MULTI")
    client("SET k v")
    client.engine.misconf_text = b"MISCONF x"
    client.engine.set_gate(gates.MISCONF, True)
    assert str(client("EXEC")) == "EXECABORT Transaction discarded because of: MISCONF x"
    assert client.engine.keyspace.databases[0].values == {}


NO_REPLICAS = "NOREPLICAS Not enough good replicas to write."


def test_writes_are_refused_while_replicas_are_asked_for_that_are_not_there() -> None:
    client = EngineClient(min_replicas_to_write=1)
    for line in ("SET k w", "XADD s * f v", "DEL k", "BLPOP l 0", "FLUSHALL"):
        assert str(client(line)) == NO_REPLICAS
    assert client("GET k") is None
    assert client("PING") == "PONG"
    client.configure(min_replicas_max_lag_s=0)
    assert client("SET k w") == "OK"


def test_a_transaction_with_a_write_is_refused_when_replicas_are_asked_for() -> None:
    client = EngineClient()
    client("MULTI")
    client("SET k v")
    client.configure(min_replicas_to_write=1)
    assert str(client("EXEC")) == f"EXECABORT Transaction discarded because of: {NO_REPLICAS}"
    client("MULTI")
    assert str(client("SET k v")) == NO_REPLICAS
    assert str(client("EXEC")).startswith("EXECABORT Transaction discarded because of previous")
    client("MULTI")
    client("GET k")
    assert client("EXEC") == [None]


def test_keys_still_expire_while_replicas_are_missing() -> None:
    client = EngineClient()
    client("SET k v PX 10")
    client.configure(min_replicas_to_write=1)
    client.sleep(1000)
    assert client("DBSIZE") == 0


AWAY = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."


def stale(client: EngineClient, on: bool = True) -> EngineClient:
    client.engine.set_gate(gates.STALE_DATA, on)
    return client


@pytest.mark.parametrize("line", ["GET k", "SET k v", "PING", "XLEN s", "DBSIZE"])
def test_a_command_that_needs_current_data_is_refused_while_it_is_old(line: str) -> None:
    assert stale(EngineClient())(line) == ReplyError(AWAY)


@pytest.mark.parametrize(
    "line", ["SELECT 0", "CLIENT GETNAME", "MULTI", "WATCH k", "SUBSCRIBE c", "ROLE"]
)
def test_a_command_that_does_not_need_current_data_runs_while_it_is_old(line: str) -> None:
    assert not isinstance(stale(EngineClient())(line), ReplyError)


def test_a_transaction_runs_on_old_data_if_all_of_it_may() -> None:
    client = stale(EngineClient())
    client("MULTI")
    assert client("SELECT 1") == "QUEUED"
    assert client("EXEC") == ["OK"]
    stale(client, on=False)
    client("MULTI")
    client("SELECT 0")
    client("GET k")
    stale(client)
    assert client("EXEC") == ReplyError(f"EXECABORT Transaction discarded because of: {AWAY}")
    assert client("EXEC") == ReplyError("ERR EXEC without MULTI")
