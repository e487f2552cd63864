"""The recorded effects of trims and deletions, run on another server, give the same stream.

The other server splits its nodes differently, as with other settings or after a rebuild
from the entries: only exact records can give it the same entries.
"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.tests.support.stream_client import stream_info
from testkit.engine_client import EngineClient

POLICY = st.sampled_from([[], ["KEEPREF"], ["DELREF"], ["ACKED"]])
SIGN = st.sampled_from([[], ["="], ["~"], ["~"]])
LIMIT = st.sampled_from([[], [], ["LIMIT", "0"], ["LIMIT", "2"], ["LIMIT", "5"]])
STRATEGY = st.one_of(
    st.integers(0, 12).map(lambda n: ("MAXLEN", str(n))),
    st.integers(0, 40).map(lambda n: ("MINID", f"{n}-0")),
)
IDS = st.lists(st.integers(1, 30).map(lambda n: f"{n}-0"), min_size=1, max_size=4)


def trim_words(drawn: tuple[tuple[str, str], list[str], list[str], list[str]]) -> list[str]:
    (strategy, threshold), sign, limit, policy = drawn
    return [*policy, strategy, *sign, threshold, *(limit if sign == ["~"] else [])]


TRIM = st.tuples(STRATEGY, SIGN, LIMIT, POLICY).map(trim_words)
STEPS = st.lists(
    st.one_of(
        st.just(["XADD", "s"]),
        st.just(["XADD", "s"]),
        TRIM.map(lambda words: ["XADD", "s", *words]),
        TRIM.map(lambda words: ["XTRIM", "s", *words]),
        IDS.map(lambda ids: ["XDEL", "s", *ids]),
        st.tuples(POLICY, IDS).map(
            lambda drawn: ["XDELEX", "s", *drawn[0], "IDS", str(len(drawn[1])), *drawn[1]]
        ),
        st.integers(1, 6).map(
            lambda n: ["XREADGROUP", "GROUP", "g", "c", "COUNT", str(n), "STREAMS", "s", ">"]
        ),
        IDS.map(lambda ids: ["XACK", "s", "g", *ids]),
    ),
    max_size=40,
)


def state(client: EngineClient) -> list[Any]:
    """Entries, counters and pending records; not where nodes are cut."""
    info = stream_info(client)
    del info[b"radix-tree-keys"], info[b"radix-tree-nodes"]
    return [info, client("XRANGE", "s", "-", "+"), client("XPENDING", "s", "g", "-", "+", "99")]


@given(STEPS, st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=250)
@example([["XADD", "s"]] * 6 + [
    ["XREADGROUP", "GROUP", "g", "c", "COUNT", "6", "STREAMS", "s", ">"],
    ["XACK", "s", "g", "1-0", "3-0", "4-0", "5-0", "6-0"],
    ["XTRIM", "s", "MINID", "~", "7-0", "ACKED"],
], 3, 4)  # fmt: skip
def test_running_the_records_again_gives_the_same_stream(
    steps: list[list[str]], here: int, there: int
) -> None:
    client = EngineClient(stream_node_max_entries=here)
    twin = EngineClient(stream_node_max_entries=there)
    twin.session.is_replaying = True
    client("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for n, step in enumerate(steps, 1):
        client(*step, *([f"{n}-0", "f", "v"] if step[0] == "XADD" else []))
    for record in client.effects():
        twin(*record)
    assert state(twin) == state(client)
