"""Users and their rules against a real redis-server: thousands of random rules and random calls.
With a Redis of 8.6 (FOREBAY_PEER) every byte is compared; 7.0 words refusals differently and
lists the rules about commands in another order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from forebay import compiled
from forebay.commands.access.categories import CATEGORIES, Catalogue
from forebay.commands.table import TABLE
from server.tests.compat.acl_rules import RuleWriter
from testkit.engine_client import EngineClient, ReplyError
from testkit.oracle import server_program, server_version, start_redis
from testkit.resp import RawClient
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle
IS_NEW = server_version(server_program()) >= (8, 6)
ROUNDS = 15_000 if compiled() else 2_000
#: Redis refuses them with other errors before it checks the user.
PROTECTED = {b"debug", b"module|load", b"module|loadex", b"module|unload"}
#: 7.0 counts the words of the first two differently, and WAIT is blocking since 7.2.
OLDER = {b"command|getkeys", b"command|getkeysandflags", b"wait"}


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = start_redis(Path(tmp_path_factory.mktemp("acl")))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def redis(oracle: ServerProcess) -> Iterator[RawClient]:
    with oracle.client(unix=True) as client:
        yield client


@pytest.fixture(scope="module")
def shared(redis: RawClient) -> set[bytes]:
    """The commands that both have."""
    return set(redis("COMMAND", "LIST")) & {row.full_name for row in Catalogue(TABLE)}


@pytest.fixture(scope="module")
def known(shared: set[bytes]) -> set[bytes]:
    """The commands that both judge by the user alone."""
    return shared - PROTECTED - (set() if IS_NEW else OLDER)


def said(reply: Any) -> Any:
    """A reply in a form common to all versions: 7.0 does not name the user."""
    if isinstance(reply, ReplyError | Exception):
        return "error", said(str(reply).encode())
    if isinstance(reply, bytes):
        text = re.sub(rb"(User \S+|[Tt]his user) has no", rb"the user has no", reply)
        if text.startswith(b"NOPERM the user has no permissions to access one of the "):
            kind = b"channel" if b"channels" in text else b"key"
            return b"NOPERM No permissions to access a " + kind
        return text
    return reply


def described(reply: Any) -> Any:
    """The answer of ACL GETUSER, as far as versions agree; only Forebay writes %RW~*."""
    if not isinstance(reply, list):
        return reply
    fields = dict(zip(reply[::2], reply[1::2], strict=True))
    selectors = [dict(zip(part[::2], part[1::2], strict=True)) for part in fields[b"selectors"]]
    for part in (fields, *selectors):
        part[b"keys"] = part[b"keys"].replace(b"%RW~*", b"~*")
        if not IS_NEW:
            part[b"commands"] = part[b"commands"].split()[0]
    if not IS_NEW:
        fields[b"flags"] = [flag for flag in fields[b"flags"] if flag != b"sanitize-payload"]
    return {**fields, b"selectors": selectors}


@pytest.mark.parametrize("seed", range(4))
def test_random_rules_make_the_same_users_and_allow_the_same_calls(
    redis: RawClient, known: set[bytes], seed: int
) -> None:
    writer = RuleWriter(Random(seed), known)
    forebay = EngineClient()
    redis("ACL", "DELUSER", "u", "v")
    for _ in range(ROUNDS // 4):
        rules = writer.rules()
        line = ("ACL", "SETUSER", "u", *rules)
        assert said(redis(*line)) == said(forebay(*line)), rules
        asked = [redis("ACL", "GETUSER", "u"), forebay("ACL", "GETUSER", "u")]
        assert described(asked[0]) == described(asked[1]), rules
        for _ in range(6):
            call = ("ACL", "DRYRUN", "u", *writer.call())
            assert said(redis(*call)) == said(forebay(*call)), (forebay("ACL", "LIST"), call)


def test_what_acl_list_says_makes_the_same_user_in_redis(
    redis: RawClient, known: set[bytes]
) -> None:
    writer = RuleWriter(Random(7), known)
    forebay = EngineClient()
    for _ in range(200):
        forebay("ACL", "SETUSER", "u", "reset", *(writer.rule() for _ in range(6)))
        line = next((x for x in forebay("ACL", "LIST") if x.startswith(b"user u ")), None)
        if line is None:
            continue
        words = line.split(b" ")
        assert redis("ACL", "SETUSER", "v", "reset", *words[2:]) in (b"OK", "OK"), line
        for _ in range(5):
            call = writer.call()
            mine, theirs = (
                server("ACL", "DRYRUN", name, *call)
                for server, name in ((forebay, "u"), (redis, "v"))
            )
            assert said(mine) == said(theirs), (line, call)


def test_refused_calls_get_the_same_errors(oracle: ServerProcess, known: set[bytes]) -> None:
    writer = RuleWriter(Random(11), known)
    forebay = EngineClient()
    theirs, ours = oracle.client(unix=True), forebay.new()
    with oracle.client(unix=True) as redis, theirs:
        for server in (redis, forebay):
            assert server("ACL", "SETUSER", "w", "reset", "on", "nopass") in (b"OK", "OK")
        for server in (theirs, ours):
            assert server("AUTH", "w", "any") in (b"OK", "OK")
        refused = 0
        for _ in range(400):
            rules = [writer.rule_of_selector() for _ in range(3)]
            for server in (redis, forebay):
                server("ACL", "SETUSER", "w", "-@all", *rules)
            call = writer.call()
            if isinstance(forebay("ACL", "DRYRUN", "w", *call), bytes):
                assert said(theirs(*call)) == said(ours(*call)), (forebay("ACL", "LIST"), call)
                refused += 1
        assert refused > 100
        logs = [server("ACL", "LOG", "1000") for server in (redis, forebay)]
        reasons = [[(entry[1], entry[3], entry[5], entry[7]) for entry in log] for log in logs]
        assert reasons[0] == reasons[1]


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_category_has_the_commands_that_it_has_in_redis(
    redis: RawClient, shared: set[bytes], category: str
) -> None:
    newer = set() if IS_NEW or category != "blocking" else {b"wait"}
    ours = set(EngineClient()("ACL", "CAT", category)) & shared
    assert ours == (set(redis("ACL", "CAT", category)) | newer) & shared
