"""``forebay info``: a server, a stream, many streams."""

from __future__ import annotations

from server.tests.support.lines import Lines, url_of


def fill(cli: Lines, count: int) -> None:
    """Add this many streams of one entry each."""
    with cli.server.client() as client:
        for number in range(count):
            name = b"s:%05d" % number
            client.send(
                b"*5\r\n$4\r\nXADD\r\n$7\r\n%b\r\n$3\r\n1-0\r\n$1\r\na\r\n$1\r\nb\r\n" % name
            )
        client.read_many(count)


def test_a_server_in_short(cli: Lines) -> None:
    cli.ask("XADD", "s", "1-0", "a", "b")
    cli.ask("SET", "k", "v")
    told = cli("info").splitlines()
    assert told[0].split()[0].lower() == cli.server.name.removesuffix("-server")
    assert told[0].endswith(f"at {url_of(cli.server)}, a primary with no replicas")
    assert told[-1] == "1 stream with 1 entry, 1 other key"
    (facts,) = cli.objects("info")
    assert (facts["streams"], facts["entries"], facts["keys"]) == (1, 1, 2)
    assert facts["role"] == "master" and facts["memory_bytes"] > 0


def test_a_stream_with_its_groups(cli: Lines) -> None:
    for number in range(1, 5):
        cli.ask("XADD", "s", f"{number}-0", "a", "b")
    cli.ask("XGROUP", "CREATE", "s", "g", "0")
    cli.ask("XREADGROUP", "GROUP", "g", "alice", "COUNT", 3, "STREAMS", "s", ">")
    cli.ask("XTRIM", "s", "MAXLEN", 2)
    lines = cli("info", "s").splitlines()
    assert lines[0].startswith("s: 2 entries, ")
    assert lines[1:6] == [
        "oldest   3-0  1970-01-01T00:00:00.003Z",
        "newest   4-0  1970-01-01T00:00:00.004Z",
        "last ID  4-0",
        "added    4 ever, 2 gone",
        "1 group",
    ]
    assert lines[-2].split() == ["group", "consumers", "pending", "lag", "last", "delivered"]
    assert lines[-1].split() == ["g", "1", "3", "1", "3-0"]
    (facts,) = cli.objects("info", "s")
    assert facts["groups"] == [
        {
            "stream": "s",
            "group": "g",
            "consumers": 1,
            "pending": 3,
            "lag": 1,
            "last_id": "3-0",
            "read": 3,
        }
    ]


def test_a_stream_without_entries(cli: Lines) -> None:
    cli.ask("XGROUP", "CREATE", "s", "g", "$", "MKSTREAM")
    assert cli("info", "s").splitlines()[0].startswith("s: no entries")
    (facts,) = cli.objects("info", "*")
    assert facts["first_id"] is None and facts["newest_id"] is None


def test_a_pattern_or_several_names_give_a_table(cli: Lines) -> None:
    for name in ("a:1", "a:2", "b"):
        cli.ask("XADD", name, "1-0", "a", "b")
    cli.ask("SET", "a:3", "no stream")
    rows = [line.split() for line in cli("info", "a:*").splitlines()]
    assert rows[0][:3] == ["stream", "entries", "groups"]
    assert [row[0] for row in rows[1:]] == ["a:1", "a:2"]
    assert [facts["stream"] for facts in cli.objects("info", "b", "a:1")] == ["b", "a:1"]
    assert cli.refused("info", "a:1", "c").startswith("there is no stream c at")


def test_ten_thousand_streams_are_listed(cli: Lines) -> None:
    fill(cli, 10_000)
    assert len(cli.objects("info", "*")) == 10_000
    assert cli("info").splitlines()[-1] == "10,000 streams with 10,000 entries, no other keys"
    assert "did you mean s:0" in cli.refused("range", "s:123456")


def test_names_are_told_as_they_are(cli: Lines) -> None:
    cli.ask("XADD", b"caf\xe9", "1-0", "a", "b")
    cli.ask("XADD", "a b", "1-0", "a", "b")
    assert [line.split("  ")[0] for line in cli("info", "*").splitlines()[1:]] == [
        '"a b"',
        '"caf\\xe9"',
    ]
    assert {"base64": "Y2Fm6Q=="} in [facts["stream"] for facts in cli.objects("info", "*")]


def test_a_star_in_a_name_is_escaped(cli: Lines) -> None:
    cli.ask("XADD", "a*", "1-0", "a", "b")
    cli.ask("XADD", "ab", "1-0", "a", "b")
    assert cli("info", "a\\*").startswith("a*: 1 entry")
    assert cli("range", "a\\*").startswith("1-0")
