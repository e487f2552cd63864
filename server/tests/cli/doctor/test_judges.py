"""Findings about a server, from numbers as INFO and CONFIG GET report them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from forebay.cli.doctor import doors, links, load, replicas, saving
from forebay.cli.doctor.examine import machine_section, server_findings
from forebay.cli.doctor.finding import Finding, Level
from forebay.cli.doctor.patient import Look, Patient, Slow
from forebay.cli.doctor.tree import Tree
from forebay.cli.remote.address import Address
from testkit.places import ROOT

MB = 1 << 20
NOW_S = 1_800_000_000
Judge = Callable[[Patient], Finding]

#: A healthy primary with a replica.
INFO = {
    "role": "master",
    "redis_version": "7.0.15",
    "uptime_in_seconds": "86400",
    "server_time_usec": str(NOW_S * 1_000_000),
    "connected_slaves": "1",
    "slave0": "ip=10.0.0.2,port=6379,state=online,offset=10000000,lag=0",
    "master_repl_offset": "10000000",
    "repl_backlog_active": "1",
    "repl_backlog_size": str(64 * MB),
    "aof_enabled": "1",
    "aof_last_write_status": "ok",
    "aof_last_bgrewrite_status": "ok",
    "aof_delayed_fsync": "0",
    "aof_current_size": "1000",
    "aof_base_size": "900",
    "rdb_last_bgsave_status": "ok",
    "rdb_changes_since_last_save": "3",
    "rdb_last_save_time": str(NOW_S - 10),
    "latest_fork_usec": "900",
    "used_memory": str(100 * MB),
    "used_memory_rss": str(120 * MB),
    "maxmemory": str(1000 * MB),
    "maxmemory_policy": "noeviction",
    "evicted_keys": "0",
    "connected_clients": "10",
    "maxclients": "10000",
    "rejected_connections": "0",
    "blocked_clients": "2",
}
SETTINGS = {
    "min-replicas-to-write": "1",
    "min-replicas-max-lag": "10",
    "repl-timeout": "60",
    "repl-ping-replica-period": "10",
    "client-output-buffer-limit": f"normal 0 0 0 slave {256 * MB} {64 * MB} 60 pubsub 1 1 1",
    "appendfsync": "everysec",
    "save": "",
    "slowlog-log-slower-than": "10000",
    "bind": "127.0.0.1 -::1",
    "protected-mode": "yes",
    "port": "6379",
    "tls-port": "0",
    "tls-protocols": "",
}


def patient(
    info: dict[str, str] | None = None,
    settings: dict[str, str] | None = None,
    before: dict[str, str] | None = None,
    slow: tuple[Slow, ...] | None = (),
) -> Patient:
    """A server with some facts changed, watched for ten seconds; ``before`` are earlier ones."""
    now = INFO | (info or {})
    first = Look(now | (before or {}), 100.0, NOW_S - 10.0)
    last = Look(now, 110.0, float(NOW_S))
    return Patient(Address(), first, last, SETTINGS | (settings or {}), slow, is_open=False)


def test_a_server_on_which_all_is_well_gets_no_advice() -> None:
    findings = server_findings(patient())
    assert {finding.level for finding in findings} == {Level.OK}, findings
    assert not any(finding.do for finding in findings)


def test_what_a_server_does_not_tell_is_unknown_and_no_error() -> None:
    silent = Look({"role": "master"}, 1.0, float(NOW_S))
    findings = server_findings(Patient(Address(), silent, silent, {}, None))
    levels = {finding.topic: finding.level for finding in findings}
    assert levels.pop("server") is Level.OK
    assert set(levels.values()) == {Level.UNKNOWN}, findings


@pytest.mark.parametrize("text", ["", "?", "1e9", "-", "٣", "9" * 5000])
def test_a_field_that_is_no_number_is_no_error(text: str) -> None:
    strange = Look({**dict.fromkeys(INFO, text), "role": "master"}, 1.0, float(NOW_S))
    server_findings(Patient(Address(), strange, strange, dict.fromkeys(SETTINGS, text), ()))


# Replicas

FAR_BEHIND = str(10_000_000 + 50 * MB)


@pytest.mark.parametrize(
    ("line", "offset", "level", "told"),
    [
        (
            "state=online,offset=10000000,lag=1",
            "10000000",
            Level.OK,
            "not behind, and confirmed 1 s",
        ),
        (
            "state=online,offset=10000000,lag=0",
            "10500000",
            Level.OK,
            "488 KB behind, and confirmed w",
        ),
        ("state=online,offset=10000000,lag=9", "10500000", Level.PROBLEM, "nothing for 9 s"),
        ("state=wait_bgsave,offset=0,lag=0", "10000000", Level.ADVICE, "(state wait_bgsave)"),
        ("state=online,offset=10000000,lag=1", FAR_BEHIND, Level.ADVICE, "reads slower than"),
        ("state=online,offset=0,lag=1", str(90 * MB), Level.PROBLEM, "it needs a full sync"),
    ],
)
def test_a_replica_is_judged_by_what_it_has_not_confirmed(
    line: str, offset: str, level: Level, told: str
) -> None:
    info = {"slave0": f"ip=10.0.0.2,port=6379,{line}", "master_repl_offset": offset}
    (found,) = replicas.replica_findings(patient(info))
    assert found.topic == "replica 10.0.0.2:6379"
    assert found.level is level and told in found.sentence, found
    assert bool(found.do) == (level is not Level.OK)


def test_what_is_written_between_two_confirmations_is_not_behind() -> None:
    """100 MB in ten seconds: at any moment more than the backlog is in transit."""
    info = {"master_repl_offset": str(110 * MB), "repl_backlog_size": str(4 * MB)}
    info["slave0"] = f"ip=a,port=1,state=online,offset={95 * MB},lag=0"
    (found,) = replicas.replica_findings(patient(info, before={"master_repl_offset": str(10 * MB)}))
    assert (found.level, found.facts["behind_s"]) == (Level.OK, 1.5)


def test_a_primary_that_has_lost_its_replicas_is_told_from_one_that_had_none() -> None:
    (lost,) = replicas.replica_findings(patient({"connected_slaves": "0"}))
    assert lost.level is Level.ADVICE and "there was one" in lost.sentence
    alone = {"connected_slaves": "0", "repl_backlog_active": "0"}
    (never,) = replicas.replica_findings(patient(alone))
    assert never.level is Level.OK


@pytest.mark.parametrize(
    ("written_mb", "level", "told", "do"),
    [
        (0, Level.OK, "nothing was written in 10 s", ""),
        (5, Level.OK, "At 512 KB a second the backlog of 64 MB lasts for 2.1 minutes", ""),
        (20, Level.ADVICE, "lasts for 32 s", "CONFIG SET repl-backlog-size 128mb"),
        (100, Level.PROBLEM, "lasts for 6.4 s", "CONFIG SET repl-backlog-size 1024mb"),
    ],
)
def test_a_backlog_is_judged_by_the_seconds_that_it_holds(
    written_mb: int, level: Level, told: str, do: str
) -> None:
    now = {"master_repl_offset": str(500 * MB), "slave0": f"ip=a,state=online,offset={500 * MB}"}
    before = {"master_repl_offset": str((500 - written_mb) * MB)}
    found = replicas.backlog_finding(patient(now, before=before))
    assert found.level is level and told in found.sentence and do in found.do, found


def test_without_a_backlog_the_growth_of_the_aof_tells_how_much_is_written() -> None:
    info = {"connected_slaves": "0", "repl_backlog_active": "0", "aof_current_size": "5000000"}
    alone = patient(info, before={"aof_current_size": "1000000"})
    assert alone.write_rate == 400_000
    rewritten = patient(info, before={"aof_current_size": "9000000"})
    assert rewritten.write_rate is None


@pytest.mark.parametrize(
    ("info", "settings", "level", "told"),
    [
        ({}, {}, Level.OK, "It is 1, and 1 replica"),
        ({}, {"min-replicas-to-write": "0"}, Level.ADVICE, "refuses writes after 10 s"),
        ({}, {"min-replicas-to-write": "2"}, Level.PROBLEM, "refused now (NOREPLICAS): 1 of at"),
        ({"slave0": "state=online,lag=10"}, {}, Level.OK, "It is 1, and 1 replica"),
        ({"slave0": "state=online,lag=11"}, {}, Level.PROBLEM, "0 of at least 1"),
        ({"slave0": "state=send_bulk,lag=0"}, {}, Level.PROBLEM, "0 of at least 1"),
        (
            {"connected_slaves": "0"},
            {"min-replicas-to-write": "0"},
            Level.OK,
            "writes need no replica",
        ),
    ],
)
def test_writes_without_replicas_are_judged_by_the_promise_that_was_made(
    info: dict[str, str], settings: dict[str, str], level: Level, told: str
) -> None:
    found = replicas.safety_finding(patient(info, settings))
    assert found.level is level and told in found.sentence, found


def test_a_timeout_shorter_than_the_pings_cuts_quiet_links() -> None:
    found = replicas.timeout_finding(patient(settings={"repl-timeout": "10"}))
    assert found.level is Level.PROBLEM and "CONFIG SET repl-timeout 60" in found.do


@pytest.mark.parametrize(
    ("limit", "used_mb", "level", "told"),
    [
        ("slave 0 0 0", 100_000, Level.OK, "no replica is cut off"),
        (f"slave {256 * MB} 0 0", 100, Level.OK, "after 26 s it is cut off"),
        (f"slave {256 * MB} 0 0", 1000, Level.ADVICE, "which takes about 20 s"),
        (f"slave {256 * MB} 0 0", 5000, Level.PROBLEM, "starts again, for ever"),
        # The soft limit is reached after 3 s, and endured for 4 more.
        (f"replica {900 * MB} {30 * MB} 4", 100, Level.ADVICE, "after 7 s"),
        # A hard limit below the backlog counts as the size of the backlog.
        (f"slave {MB} 0 0", 10, Level.ADVICE, "after 6.4 s"),
        ("slave a b c", 10, Level.UNKNOWN, "does not tell"),
    ],
)
def test_buffers_of_replicas_are_judged_by_how_long_a_full_sync_takes(
    limit: str, used_mb: int, level: Level, told: str
) -> None:
    settings = {"client-output-buffer-limit": f"normal 0 0 0 {limit} pubsub 1 1 1"}
    now = {"master_repl_offset": str(500 * MB), "used_memory": str(used_mb * MB)}
    found = replicas.buffers_finding(
        patient(now, settings, before={"master_repl_offset": str(400 * MB)})
    )
    assert found.level is level and told in found.sentence, found


# The link of a replica

REPLICA = {
    "role": "slave",
    "master_host": "10.0.0.1",
    "master_port": "6380",
    "master_link_status": "up",
    "master_last_io_seconds_ago": "1",
    "master_sync_in_progress": "0",
    "slave_read_only": "1",
}


@pytest.mark.parametrize(
    ("judge", "info", "level", "told"),
    [
        (links.link_finding, {}, Level.OK, "The link to 10.0.0.1:6380 is up"),
        (
            links.link_finding,
            {"master_last_io_seconds_ago": "45"},
            Level.PROBLEM,
            "has said nothing for 45 s; after 60 s (repl-timeout)",
        ),
        (
            links.link_finding,
            {"master_link_status": "down", "master_link_down_since_seconds": "300"},
            Level.PROBLEM,
            "has been down for 5 minutes",
        ),
        (
            links.link_finding,
            {
                "master_link_status": "down",
                "master_link_down_since_seconds": "5",
                "forebay_link_error": "wrong password",
            },
            Level.PROBLEM,
            "for 5 s, and the data here is old (wrong password)",
        ),
        (
            links.link_finding,
            {"master_link_status": "down", "master_link_down_since_seconds": "-1"},
            Level.PROBLEM,
            "has never been up",
        ),
        (
            links.link_finding,
            {
                "master_link_status": "down",
                "master_sync_in_progress": "1",
                "master_sync_left_bytes": str(5 * MB),
            },
            Level.ADVICE,
            "is under way, 5 MB are left",
        ),
        (links.link_finding, {"master_link_status": ""}, Level.UNKNOWN, "does not tell"),
        (links.read_only_finding, {}, Level.OK, "Only the primary"),
        (links.read_only_finding, {"slave_read_only": "0"}, Level.ADVICE, "lost at the next full"),
        (
            links.server_finding,
            {"loading": "1", "loading_loaded_perc": "12.5"},
            Level.ADVICE,
            "12.5",
        ),
        (links.clock_finding, {"server_time_usec": "1"}, Level.ADVICE, "differ by"),
    ],
)
def test_a_replica_is_judged_by_its_own_end_of_the_link(
    judge: Judge, info: dict[str, str], level: Level, told: str
) -> None:
    found = judge(patient(REPLICA | info))
    assert found.level is level and told in found.sentence, found
    assert bool(found.do) == (level in (Level.ADVICE, Level.PROBLEM))


# What is on disk

OFF = {"aof_enabled": "0", "connected_slaves": "0"}


@pytest.mark.parametrize(
    ("info", "settings", "level", "told"),
    [
        ({}, {}, Level.OK, "a loss of power the last second at most"),
        ({}, {"appendfsync": "always"}, Level.OK, "before its reply"),
        ({}, {"appendfsync": "no"}, Level.ADVICE, "half a minute"),
        (OFF, {"save": "3600 1"}, Level.ADVICE, "Only snapshots"),
        (OFF, {}, Level.ADVICE, "a restart loses all data"),
        ({"aof_enabled": "0"}, {}, Level.PROBLEM, "empty, and so are they a moment later"),
    ],
)
def test_what_is_kept_on_disk_is_judged_by_what_a_crash_loses(
    info: dict[str, str], settings: dict[str, str], level: Level, told: str
) -> None:
    found = saving.kept_finding(patient(info, settings))
    assert found.level is level and told in found.sentence, found


@pytest.mark.parametrize(
    ("info", "before", "level", "told"),
    [
        (
            {"aof_last_write_status": "err", "aof_last_error": "No space left"},
            {},
            Level.PROBLEM,
            "failed (No space left), and writes are refused",
        ),
        ({"aof_last_bgrewrite_status": "err"}, {}, Level.PROBLEM, "The last rewrite"),
        ({"aof_delayed_fsync": "7"}, {}, Level.ADVICE, "7 times since the start"),
        ({"aof_delayed_fsync": "7"}, {"aof_delayed_fsync": "6"}, Level.PROBLEM, "while it was"),
        (
            {"aof_last_fsync_age_ms": "4000", "aof_unsynced_bytes": str(MB)},
            {},
            Level.PROBLEM,
            "1 MB have been waiting for a sync for 4 s",
        ),
        ({"aof_current_size": str(2000 * MB)}, {}, Level.ADVICE, "a start reads all of it"),
    ],
)
def test_troubles_of_the_aof_are_found(
    info: dict[str, str], before: dict[str, str], level: Level, told: str
) -> None:
    findings = saving.aof_findings(patient(info, before=before))
    (found,) = [finding for finding in findings if finding.level is not Level.OK]
    assert found.level is level and told in found.sentence, found


def test_a_large_aof_that_holds_what_it_must_is_well() -> None:
    sizes = {"aof_current_size": str(4000 * MB), "aof_base_size": str(3000 * MB)}
    assert {found.level for found in saving.aof_findings(patient(sizes))} == {Level.OK}


@pytest.mark.parametrize(
    ("info", "level", "told"),
    [
        ({"rdb_last_bgsave_status": "err"}, Level.PROBLEM, "The last snapshot failed"),
        (OFF | {"rdb_last_save_time": str(NOW_S - 7200)}, Level.ADVICE, "3 changes since the"),
        (OFF, Level.OK, "3 changes since the last snapshot, 10 s ago"),
        ({}, Level.OK, "the AOF has all"),
    ],
)
def test_changes_that_are_in_no_snapshot_are_judged_by_who_else_has_them(
    info: dict[str, str], level: Level, told: str
) -> None:
    found = saving.snapshot_findings(patient(info))[-1]
    assert found.level is level and told in found.sentence, found


# How busy it is


@pytest.mark.parametrize(
    ("judge", "info", "before", "level", "told"),
    [
        (load.memory_finding, {"maxmemory": "0"}, {}, Level.ADVICE, "there is no maxmemory"),
        (load.memory_finding, {"used_memory": str(950 * MB)}, {}, Level.ADVICE, "trim streams"),
        (load.memory_finding, {"used_memory": str(1000 * MB)}, {}, Level.PROBLEM, "(OOM)"),
        (load.held_finding, {"used_memory_rss": str(600 * MB)}, {}, Level.ADVICE, "in pieces"),
        (load.held_finding, {"used_memory": str(900 * MB)}, {}, Level.PROBLEM, "in swap"),
        (load.held_finding, {"used_memory": str(MB)}, {}, Level.OK, "uses 1 MB and holds 120 MB"),
        (load.held_finding, {"used_memory_rss": str(50 * MB)}, {}, Level.OK, "holds 50 MB"),
        (load.evicted_finding, {"evicted_keys": "5"}, {}, Level.ADVICE, "5 keys thrown away"),
        (
            load.evicted_finding,
            {"evicted_keys": "5"},
            {"evicted_keys": "4"},
            Level.PROBLEM,
            "thrown away now",
        ),
        (load.evicted_finding, {"maxmemory_policy": "allkeys-lru"}, {}, Level.ADVICE, "whole"),
        (load.clients_finding, {"connected_clients": "9500"}, {}, Level.PROBLEM, "soon others"),
        (load.clients_finding, {"rejected_connections": "4"}, {}, Level.ADVICE, "and 4 were"),
        (
            load.clients_finding,
            {"rejected_connections": "4"},
            {"rejected_connections": "3"},
            Level.PROBLEM,
            "turned away now",
        ),
        (load.blocked_finding, {"blocked_clients": "1"}, {}, Level.OK, "Waiting: 1 client,"),
        (load.fork_finding, {"latest_fork_usec": "800000"}, {}, Level.ADVICE, "for 800 ms"),
    ],
)
def test_a_busy_server_is_found(
    judge: Judge, info: dict[str, str], before: dict[str, str], level: Level, told: str
) -> None:
    found = judge(patient(info, before=before))
    assert found.level is level and told in found.sentence, found
    assert bool(found.do) == (level is not Level.OK)


def test_of_slow_commands_the_slowest_of_the_last_hour_is_named() -> None:
    old, new, worst = (
        Slow(NOW_S - 7200, 900_000, "KEYS"),
        Slow(NOW_S - 60, 20_000, "XRANGE"),
        Slow(NOW_S - 90, 30_000, "XREAD"),
    )
    found = load.slow_finding(patient(slow=(old, new, worst)))
    assert found.level is Level.ADVICE and "the slowest is XREAD with 30 ms" in found.sentence
    assert load.slow_finding(patient(slow=(old,))).level is Level.OK
    assert load.slow_finding(patient(slow=None)).level is Level.UNKNOWN
    off = patient(settings={"slowlog-log-slower-than": "-1"})
    assert load.slow_finding(off).sentence == "The slow log is off"


# The page


def test_the_page_lists_every_topic_and_no_other(tmp_path: Path) -> None:
    machine = machine_section(Tree(tmp_path), None, tmp_path, 0.01).findings
    server = server_findings(patient()) + server_findings(patient(REPLICA))
    alone = replicas.replica_findings(patient(OFF))
    files = doors.secrets_finding(Tree(tmp_path), {}, {})
    topics = {finding.topic for finding in (*machine, files, *server, *alone)}
    _, _, section = (ROOT / "docs/operations.md").read_text().partition("### What is judged")
    listed = set(re.findall(r"^\| ([\w -]+) \|", section, re.MULTILINE)) - {"topic", "---"}
    assert {topic.split(" 10.0.")[0] for topic in topics} == listed
