"""REPLCONF, PSYNC, SYNC: a hand-made replica sends each word and checks each byte of the answer."""

from __future__ import annotations

import pytest

from forebay.replication.copying import Copy
from server.tests.support.sim_rig import MakeRig, SimRig, chain
from testkit.resp import ReplyError, encode
from testkit.sim_node import SimClient, SimNode

NOT_A_NUMBER = "ERR value is not an integer or out of range"
SET = encode("SET", "k", "v")


@pytest.fixture
def rig(make_rig: MakeRig) -> SimRig:
    """One server, ready."""
    rig = make_rig(1)
    chain(rig)
    return rig


@pytest.fixture
def node(rig: SimRig) -> SimNode:
    return rig.nodes[0]


def received(client: SimClient) -> bytes:
    """All bytes that have arrived."""
    data = b""
    try:
        while piece := client.socket.recv(1 << 18):
            data += piece
        client.is_closed = True
    except BlockingIOError:
        pass
    except ConnectionResetError:
        client.is_closed = True
    return data


def answer(rig: SimRig, client: SimClient, *words: str | int) -> bytes:
    """The next answer on a link; pings are left out."""
    client.send(*words)
    rig.rounds(3)
    return received(client).lstrip(b"\n")


def copy_of(data: bytes) -> tuple[bytes, bytes]:
    """The answer to PSYNC or SYNC: its first line, and the whole copy of all data."""
    line, rest = b"", data
    if data.startswith(b"+"):
        line, rest = data.split(b"\r\n", 1)
    head, rest = rest.lstrip(b"\n").split(b"\r\n", 1)
    copy = Copy(head)
    mine, after = copy.take(rest)
    assert copy.is_done
    assert after == b""
    assert mine.startswith(b"REDIS")
    return line, mine


def attached(rig: SimRig, *options: str | int) -> SimClient:
    """A replica that has its copy and follows the stream."""
    link = rig.nodes[0].client()
    assert link("REPLCONF", "capa", "eof", *options) == "OK"
    line, _ = copy_of(answer(rig, link, "PSYNC", "?", -1))
    link.send("REPLCONF", "ACK", int(line.split()[2]))
    rig.rounds(1)
    return link


# Who it is


def test_what_a_replica_says_of_itself_is_what_others_are_told(rig: SimRig, node: SimNode) -> None:
    me = ("listening-port", 6380, "IP-Address", "db.example", "capa", "PSYNC2", "version", "9.1.0")
    attached(rig, *me)
    assert node.client()("ROLE") == [b"master", 0, [[b"db.example", b"6380", b"0"]]]
    (peer,) = node.replication.side.peers
    assert (peer.capabilities, peer.version) == ({"eof", "psync2"}, "9.1.0")


def test_a_replica_that_says_nothing_is_known_by_where_it_comes_from(
    rig: SimRig, node: SimNode
) -> None:
    attached(rig)
    assert node.client()("ROLE") == [b"master", 0, [[b"10.0.9.9", b"0", b"0"]]]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["capa"], "ERR syntax error"),
        (["capa", "eof", "version"], "ERR syntax error"),
        (["nonsense", "1"], "ERR Unrecognized REPLCONF option: nonsense"),
        (["n" * 200, "1"], "ERR Unrecognized REPLCONF option: " + "n" * 128),
        (["listening-port", "x"], NOT_A_NUMBER),
        (["ip-address", "h" * 256], "too long: 256 bytes"),
        (["rdb-only", "x"], NOT_A_NUMBER),
        (["rdb-only", "2"], "ERR value is out of range, value must between 0 and 1"),
        (["rdb-filter-only", "keys"], "ERR Unsupported rdb-filter-only option: keys"),
    ],
)
def test_wrong_words_are_refused(node: SimNode, words: list[str], error: str) -> None:
    reply = node.client()("REPLCONF", *words)
    assert isinstance(reply, ReplyError)
    assert str(reply).endswith(error)


@pytest.mark.parametrize("words", [[], ["ip-address", "h" * 255], ["rdb-filter-only", ""]])
def test_words_at_the_edge_are_taken(node: SimNode, words: list[str]) -> None:
    assert node.client()("REPLCONF", *words) == "OK"


def test_what_is_said_before_the_link_confirms_nothing_and_is_not_answered(
    rig: SimRig, node: SimNode
) -> None:
    link, client = node.client(), node.client()
    for words in (("ACK", 1 << 40), ("GETACK", "*")):
        assert link("REPLCONF", *words) is None
    copy_of(answer(rig, link, "PSYNC", "?", -1))
    client("SET", "k", "v")
    rig.rounds(1)
    assert client("ROLE") == [b"master", node.place[1], [[b"10.0.9.9", b"0", b"0"]]]
    assert client("WAIT", 0, 0) == 0


def test_a_list_of_clients_tells_links_from_others(make_rig: MakeRig) -> None:
    for node, kind, flag in zip(chain(make_rig(2)), ("replica", "master"), "SM", strict=True):
        client = node.client()
        (line,) = client("CLIENT", "LIST", "TYPE", kind).decode().splitlines()
        assert f" flags={flag} " in line
        (mine,) = client("CLIENT", "LIST", "TYPE", "normal").decode().splitlines()
        assert " flags=N " in mine


# A copy of all data, then the stream


def test_a_new_replica_gets_a_copy_and_then_each_change(rig: SimRig, node: SimNode) -> None:
    node.client()("SET", "before", "1")
    link = node.client()
    assert link("REPLCONF", "capa", "eof", "capa", "psync2") == "OK"
    line, copy = copy_of(answer(rig, link, "PSYNC", "?", -1))
    replid, offset = node.place
    assert line == b"+FULLRESYNC %b %d" % (replid.encode(), offset)
    assert b"before" in copy
    node.client()("SET", "k", "v")
    assert received(link) == b"", "the stream waits for the first word of the replica"
    assert answer(rig, link, "REPLCONF", "ACK", offset) == encode("SELECT", "0") + SET


def test_a_replica_without_marks_gets_a_copy_of_known_size(rig: SimRig, node: SimNode) -> None:
    link = node.client()
    data = answer(rig, link, "PSYNC", "?", -1)
    line, copy = copy_of(data)
    assert data == line + b"\r\n$%d\r\n" % len(copy) + copy
    node.client()("SET", "k", "v")
    rig.rounds(1)
    assert received(link) == encode("SELECT", "0") + SET


def test_the_old_way_gets_a_copy_without_a_first_line(rig: SimRig, node: SimNode) -> None:
    node.client()("SET", "before", "1")
    link = node.client()
    line, copy = copy_of(answer(rig, link, "SYNC"))
    assert line == b""
    assert b"before" in copy
    node.client()("SET", "k", "v")
    rig.rounds(1)
    assert received(link) == encode("SELECT", "0") + SET


@pytest.mark.parametrize(("options", "first"), [(["capa", "psync2"], " {id}"), ([], "")])
def test_a_replica_that_was_away_gets_what_it_missed(
    rig: SimRig, node: SimNode, options: list[str], first: str
) -> None:
    attached(rig).close()
    client = node.client()
    client("SET", "before", "1")
    rig.rounds(1)
    replid, offset = node.place
    client("SET", "k", "v")
    link = node.client()
    if options:
        assert link("REPLCONF", *options) == "OK"
    link.send("PSYNC", replid, offset + 1)
    node.turn()
    node.turn()  # the stream follows after the answer
    assert received(link) == f"+CONTINUE{first.format(id=replid)}\r\n".encode() + SET
    assert node.engine.stats.partial_syncs == 1


@pytest.mark.parametrize("words", [("PSYNC", "?", -1), ("SYNC",)])
def test_who_is_a_replica_already_is_not_made_one_again(
    rig: SimRig, node: SimNode, words: tuple[str, ...]
) -> None:
    link = attached(rig)
    assert answer(rig, link, *words) == b""
    assert node.engine.stats.full_syncs == 1
    node.client()("SET", "k", "v")
    assert received(link).endswith(SET)


@pytest.mark.parametrize("words", [("PSYNC", "?", -1), ("SYNC",)])
def test_a_client_that_is_owed_an_answer_cannot_become_a_replica(
    node: SimNode, words: tuple[str, ...]
) -> None:
    client = node.client()
    client.send_raw(encode("PING") + encode(*words))
    node.turn()
    assert received(client) == (b"+PONG\r\n-ERR SYNC and PSYNC are invalid with pending output\r\n")
    assert len(node.replication.side.peers) == 0


def test_a_place_that_is_no_number_is_refused(node: SimNode) -> None:
    assert node.client()("PSYNC", "?", "x") == ReplyError(NOT_A_NUMBER)


# A copy for a person, not for a server


def test_who_wants_a_copy_only_is_let_go_with_it(rig: SimRig, node: SimNode) -> None:
    node.client()("SET", "before", "1")
    link = node.client()
    assert link("REPLCONF", "rdb-only", "1", "capa", "eof") == "OK"
    _, copy = copy_of(answer(rig, link, "SYNC"))
    assert b"before" in copy
    rig.rounds(1)
    received(link)
    assert link.is_closed
    assert len(node.replication.side.peers) == 0


def test_a_copy_of_functions_holds_no_key(rig: SimRig, node: SimNode) -> None:
    node.client()("SET", "before", "1")
    link = node.client()
    assert link("REPLCONF", "rdb-only", 1, "rdb-filter-only", "functions FUNCTIONS") == "OK"
    _, copy = copy_of(answer(rig, link, "SYNC"))
    assert b"before" not in copy


# How far it is


def test_a_replica_says_how_far_it_is_and_how_far_its_disk_is(rig: SimRig, node: SimNode) -> None:
    link, client = attached(rig), node.client()
    client("SET", "k", "v")
    rig.rounds(1)
    end = node.place[1]
    for confirms, counts in [
        (("ACK", end - 1), (0, 0)),
        (("ACK", end), (1, 0)),
        (("ACK", end, "fack", end - 1), (1, 0)),
        (("ACK", end, "FACK", end), (1, 1)),
    ]:
        link.send("REPLCONF", *confirms)
        node.turn()
        assert (client("WAIT", 0, 0), client("WAITAOF", 0, 0, 0)[1]) == counts
    received(link)
    assert not link.is_closed


# The primary hands its role over


def test_a_primary_cannot_be_made_one(rig: SimRig, node: SimNode) -> None:
    attached(rig)
    replid, offset = node.place
    assert node.client()("PSYNC", replid, offset + 1, "FAILOVER") == ReplyError(
        "ERR PSYNC FAILOVER can't be sent to a master."
    )


def test_a_replica_takes_the_lead_only_of_its_own_stream_and_with_all_of_it(
    make_rig: MakeRig,
) -> None:
    rig = make_rig(2)
    _, replica = chain(rig)
    replid, offset = replica.place
    other = replica.client()("PSYNC", "0" * 40, offset + 1, "FAILOVER")
    assert other == ReplyError("ERR PSYNC FAILOVER replid must match my replid.")
    behind = replica.client()("PSYNC", replid, offset + 2, "FAILOVER")
    assert behind == ReplyError("ERR PSYNC FAILOVER can't be sent to a replica that is behind.")
    assert replica.client()("SET", "k", "v") == ReplyError(
        "READONLY You can't write against a read only replica."
    )
    link = replica.client()
    assert link("REPLCONF", "capa", "psync2") == "OK"
    link.send("PSYNC", replid, offset + 1, "failover")
    replica.turn()
    assert received(link) == b"+CONTINUE %b\r\n" % replica.place[0].encode()
    assert replica.place[0] != replid
    assert replica.client()("SET", "k", "v") == "OK"


def test_a_replica_that_is_behind_takes_the_lead_if_it_must(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    _, replica = chain(rig)
    replid, offset = replica.place
    replica.client().send("PSYNC", replid, offset + 2, "FAILOVER", "FORCE")
    replica.turn()
    assert replica.client()("SET", "k", "v") == "OK"


def test_a_replica_whose_link_is_down_has_nothing_to_pass_on(make_rig: MakeRig) -> None:
    rig = make_rig(2)
    primary, replica = chain(rig)
    primary.kill()
    rig.rounds(2)
    for words in (("SYNC",), ("PSYNC", "?", -1)):
        assert replica.client()(*words) == ReplyError(
            "NOMASTERLINK Can't SYNC while not connected with my master"
        )
