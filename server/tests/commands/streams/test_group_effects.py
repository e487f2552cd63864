"""The recorded effects of group commands, run on another server, give the same state."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from testkit.engine_client import EngineClient

IDS = st.lists(st.integers(1, 12).map(lambda n: f"{n}-0"), min_size=1, max_size=5)
GROUP = st.sampled_from(["g", "h"])
CONSUMER = st.sampled_from(["alice", "bob", "carol"])
IDLE = st.sampled_from(["0", "50", "1000"])


def words(*parts: Any) -> st.SearchStrategy[list[str]]:
    """A command line out of fixed words and drawn ones."""
    drawn = [part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts]
    return st.tuples(*drawn).map(_flat)


def _flat(parts: tuple[Any, ...]) -> list[str]:
    line: list[str] = []
    for part in parts:
        line.extend([part] if isinstance(part, str) else part)
    return line


def with_count(ids: list[str]) -> list[str]:
    return ["IDS", str(len(ids)), *ids]


CLAIM_OPTIONS = st.sampled_from(
    [[], ["FORCE"], ["JUSTID"], ["IDLE", "70"], ["RETRYCOUNT", "5"], ["LASTID", "9-0", "FORCE"]]
)
COMMANDS = st.one_of(
    words("XADD"),
    words("XDEL", "s", IDS),
    words("XTRIM", "s", "MAXLEN", st.integers(0, 9).map(str)),
    words("XREADGROUP", "GROUP", GROUP, CONSUMER, "COUNT", "3", "STREAMS", "s", ">"),
    words("XREADGROUP", "GROUP", GROUP, CONSUMER, "NOACK", "COUNT", "2", "STREAMS", "s", ">"),
    words("XREADGROUP", "GROUP", GROUP, CONSUMER, "CLAIM", IDLE, "STREAMS", "s", ">"),
    words("XACK", "s", GROUP, IDS),
    words(
        "XACKDEL", "s", GROUP, st.sampled_from(["KEEPREF", "DELREF", "ACKED"]), IDS.map(with_count)
    ),
    words("XNACK", "s", GROUP, st.sampled_from(["SILENT", "FAIL", "FATAL"]), IDS.map(with_count)),
    words("XNACK", "s", GROUP, "FAIL", IDS.map(with_count), "FORCE"),
    words("XCLAIM", "s", GROUP, CONSUMER, IDLE, IDS, CLAIM_OPTIONS),
    words("XAUTOCLAIM", "s", GROUP, CONSUMER, IDLE, "-", "COUNT", "4"),
    words("XGROUP", "CREATE", "s", GROUP, st.sampled_from(["0", "$", "4-0"])),
    words("XGROUP", "SETID", "s", GROUP, st.sampled_from(["0", "$", "4-0"])),
    words("XGROUP", "CREATECONSUMER", "s", GROUP, CONSUMER),
    words("XGROUP", "DELCONSUMER", "s", GROUP, CONSUMER),
)


def state(client: EngineClient) -> Any:
    """The whole stream, except the times at which consumers were last seen: the AOF lacks them."""
    client("HELLO", "3")
    info = client("XINFO", "STREAM", "s", "FULL", "COUNT", "0")
    for group in info[b"groups"]:
        for consumer in group[b"consumers"]:
            del consumer[b"seen-time"], consumer[b"active-time"]
    return info


@given(st.lists(COMMANDS, max_size=40))
@settings(max_examples=150)
def test_running_the_records_again_gives_the_same_stream(commands: list[list[str]]) -> None:
    client = EngineClient()
    twin = EngineClient()
    for n in range(1, 6):
        client("XADD", "s", f"{n}-0", "f", "v")
    client("XGROUP", "CREATE", "s", "g", "0")
    for i, command in enumerate(commands):
        client.now_ms += 30
        is_add = command[0] == "XADD"
        client(*(["XADD", "s", f"{6 + i}-*", "f", "v"] if is_add else command))
    twin.now_ms = client.now_ms
    for record in client.effects():
        twin(*record)
    assert state(twin) == state(client)
    # The order in which pending entries are delivered again is part of the state too.
    claim_all = ["XREADGROUP", "GROUP", "g", "probe", "CLAIM", "0", "STREAMS", "s", ">"]
    assert twin(*claim_all) == client(*claim_all)
