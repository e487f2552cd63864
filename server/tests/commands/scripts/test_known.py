"""Every well-known script gives the result of a real server, in every case."""

from __future__ import annotations

import pytest
from redis.lock import Lock

from forebay.commands.scripts.known import SCRIPTS
from server.tests.support.script_cases import cases, outcomes, record, recorded
from testkit.engine_client import EngineClient
from testkit.places import ROOT
from testkit.servers import ServerProcess

#: Taken from Redis 8.6.3 by server/tests/support/script_cases.py, with the texts of the libraries.
RECORDED = recorded(ROOT / "server" / "tests" / "data" / "known_scripts.json")
TITLES = {script.sha.decode(): script.title for script in SCRIPTS}
LOCK_TEXTS = {
    name: getattr(Lock, f"LUA_{name}_SCRIPT") for name in ("RELEASE", "EXTEND", "REACQUIRE")
}


def test_every_script_of_the_table_was_recorded_once() -> None:
    assert len(TITLES) == len(SCRIPTS)
    assert set(TITLES) == set(RECORDED)


@pytest.mark.parametrize("sha", TITLES, ids=lambda sha: TITLES[sha])
def test_a_script_does_what_a_real_server_did(sha: str) -> None:
    client = EngineClient()
    client.engine.services.loaded_scripts.add(sha.encode())
    for case, ours, theirs in zip(cases(), outcomes(client.raw, sha), RECORDED[sha], strict=True):
        assert (case, ours) == (case, theirs)


@pytest.mark.oracle
def test_the_scripts_of_redis_py_do_the_same_on_the_server_of_this_machine(
    redis_server: ServerProcess,
) -> None:
    ours = EngineClient()
    with redis_server.client() as theirs:
        assert record(ours.raw, LOCK_TEXTS) == record(theirs.raw, LOCK_TEXTS)


def test_the_page_lists_every_script() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text()
    assert [title for title in TITLES.values() if f"| {title} | `" not in page] == []
    assert [sha for sha in TITLES if f"`{sha}`" not in page] == []
