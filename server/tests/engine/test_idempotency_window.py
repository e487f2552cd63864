"""The engine's periodic work forgets idempotent messages; lookups do not."""

from __future__ import annotations

from testkit.engine_client import EngineClient


def test_a_message_is_remembered_until_the_periodic_job_has_run_past_its_time() -> None:
    client = EngineClient()
    first = client("XADD", "s", "IDMP", "p", "m", "*", "f", "v")
    client.now_ms += 100_001
    assert client("XADD", "s", "IDMP", "p", "m", "*", "f", "v") == first
    client.engine.before_sleep(client.now_ms)
    assert client("XADD", "s", "IDMP", "p", "m", "*", "f", "v") != first
    assert client("XLEN", "s") == 2
