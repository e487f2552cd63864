"""``forebay doctor`` with real servers: its findings, exit codes, JSON and help."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from forebay.cli.doctor.examine import (
    Met,
    absent_finding,
    examine,
    examine_both,
    first_look,
    meeting,
)
from forebay.cli.doctor.finding import Level
from forebay.cli.doctor.tree import Tree
from forebay.cli.remote.address import Address
from forebay.cli.remote.link import Link, LinkError
from server.tests.support.doctor import Doctor, levels, url_of
from testkit.oracle import find
from testkit.servers import ServerProcess, free_port
from testkit.waiting import wait_until

Make = Callable[..., ServerProcess]
#: Tests keep a disk busy, and the doctor reports that; a disk in memory is always quick.
QUICK_DISK = ("--dir", "/dev/shm")


# A healthy server


def test_a_forebay_that_has_just_started_is_well(make_forebay: Make, doctor: Doctor) -> None:
    server = make_forebay("--maxmemory", "1gb")
    findings = doctor.findings(server.port)
    about_server = {t: f for t, f in findings.items() if f["about"] == "server"}
    assert levels(about_server, "problem", "unknown") == set(), about_server
    # An interpreted server on a machine that is busy with tests may be slow, and report it.
    assert levels(about_server, "advice") <= {"slow log", "last fork"}, about_server
    assert findings["server"]["sentence"].startswith("Forebay ")
    assert "appendfsync is everysec" in findings["persistence"]["sentence"]


def test_the_machine_of_a_server_is_that_of_its_process(make_forebay: Make, doctor: Doctor) -> None:
    server = make_forebay("--maxclients", "77")
    before = sorted(server.directory.iterdir())
    findings = doctor.findings(server.port)
    assert findings["open files"]["facts"]["maxclients"] == 77
    assert findings["disk sync"]["facts"]["syncs"] > 0
    assert str(server.directory) in findings["file system"]["sentence"]
    assert sorted(server.directory.iterdir()) == before


def test_a_redis_without_files_gets_advice_and_no_failure(make_redis: Make, doctor: Doctor) -> None:
    findings = doctor.findings(make_redis().port)
    assert findings["server"]["sentence"].startswith("Redis ")
    assert {"persistence", "memory"} <= levels(findings, "advice")
    assert findings["persistence"]["do"].endswith("CONFIG SET appendonly yes")
    about_server = {t: f for t, f in findings.items() if f["about"] == "server"}
    assert levels(about_server, "problem", "unknown") <= {"backlog", "replica buffers"}


def test_advice_alone_is_exit_code_zero_and_text_is_a_line_each(
    make_redis: Make, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert doctor("--url", url_of(make_redis().port), *QUICK_DISK) == 0
    lines = doctor.out.splitlines()
    (at,) = [at for at, line in enumerate(lines) if line.startswith("  advice   persistence")]
    assert lines[at].endswith("Nothing is kept on disk: a restart loses all data")
    assert lines[at + 1].lstrip().startswith("$ redis-cli -h 127.0.0.1 -p ")
    assert lines[-1].startswith("no problems, ") and "\x1b" not in doctor.out


def test_a_server_that_is_elsewhere_is_judged_without_the_machine(
    make_forebay: Make, tmp_path: Path
) -> None:
    server = make_forebay()
    machine, about = examine(Tree(tmp_path), Address(port=server.port), None, 0.05)
    assert [finding.level for finding in machine.findings] == [Level.UNKNOWN]
    assert "another machine or in a container" in machine.findings[0].sentence
    assert about.findings[0].sentence.startswith("Forebay ")
    machine, _ = examine(Tree(tmp_path), Address(port=server.port), tmp_path, 0.05)
    assert machine.findings[0].topic == "disk sync" and str(tmp_path) in machine.title


# Other troubles


def test_a_snapshot_that_failed_is_a_problem(make_redis: Make, doctor: Doctor) -> None:
    server = make_redis()
    (server.directory / "dump.rdb" / "in the way").mkdir(parents=True)
    with server.client() as client:
        client("BGSAVE")
        wait_until("an error", lambda: b"bgsave_status:err" in client("INFO", "persistence"))
    found = doctor.findings(server.port)["snapshot"]
    assert found["level"] == "problem" and found["do"].endswith("BGSAVE")


def test_evictions_and_full_memory_are_found(make_redis: Make, doctor: Doctor) -> None:
    server = make_redis("--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru")
    with server.client() as client:
        for number in range(300):
            client("SET", f"k{number}", "v" * 20_000)
    findings = doctor.findings(server.port)
    assert "evictions" in levels(findings, "advice", "problem")
    assert findings["evictions"]["facts"]["evicted"] > 0


@pytest.mark.parametrize("make", ["make_forebay", "make_redis"])
def test_a_slow_command_is_named_without_its_arguments(
    make: str, doctor: Doctor, request: pytest.FixtureRequest
) -> None:
    directives = ("--enable-debug-command", "yes") if make == "make_forebay" else ()
    server = request.getfixturevalue(make)(*directives)
    with server.client() as client:
        client("DEBUG", "SLEEP", "0.4321")
    found = doctor.findings(server.port)["slow log"]
    assert found["level"] == "advice" and found["facts"]["worst_command"] == "DEBUG"
    assert "0.4321" not in doctor.out


@pytest.mark.parametrize("make", ["make_forebay", "make_redis"])
def test_a_server_that_is_full_turns_the_doctor_away_in_one_sentence(
    make: str, doctor: Doctor, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(make)("--maxclients", "2")
    with server.client(), server.client() as client:
        assert client("PING") == "PONG"
        findings = doctor.findings(server.port)
    assert findings["server"]["level"] == "problem"
    assert "maxclients is reached" in findings["server"]["sentence"]


# Passwords


@pytest.mark.parametrize("make", ["make_forebay", "make_redis"])
def test_a_password_is_asked_for_tried_and_never_shown(
    make: str, doctor: Doctor, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(make)("--requirepass", "sesame")
    assert doctor("--url", url_of(server.port)) == 1
    assert "wants a password" in doctor.out
    assert doctor("--url", url_of(server.port, ":mellon@")) == 1
    assert "refuses the password" in doctor.out and "mellon" not in doctor.out
    assert doctor("--url", url_of(server.port, ":sesame@"), *QUICK_DISK) == 0
    assert "sesame" not in doctor.out and "--askpass" in doctor.out


def with_ann(server: ServerProcess, *may: str) -> ServerProcess:
    """A server with a user that has few rights."""
    with server.client() as client:
        assert client("ACL", "SETUSER", "ann", "on", ">sesame", "-@all", *may) == "OK"
    return server


def test_a_user_who_may_not_ask_for_settings_gets_what_he_may(
    make_redis: Make, doctor: Doctor
) -> None:
    server = with_ann(make_redis(), "+info", "+ping")
    assert doctor("--url", url_of(server.port, "ann:sesame@"), "--json", *QUICK_DISK) == 0
    found = {finding["topic"]: finding for finding in json.loads(doctor.out)["findings"]}
    not_told = {"min-replicas-to-write", "repl-timeout", "persistence", "slow log"}
    assert not_told <= levels(found, "unknown")
    assert found["clients"]["level"] == "ok"


def test_a_user_who_may_ask_for_nothing_is_told_so(make_redis: Make, doctor: Doctor) -> None:
    server = with_ann(make_redis())
    assert doctor("--url", url_of(server.port, "ann:sesame@")) == 1
    assert "refuses INFO: NOPERM" in doctor.out


# No server


def test_a_sentinel_is_told_from_a_server(scratch: Path, doctor: Doctor) -> None:
    port = free_port()
    config = scratch / "sentinel.conf"
    config.write_text(f"port {port}\nunixsocket {scratch / 'sock'}\ndir {scratch}\n")
    command = [find("redis-server"), str(config), "--sentinel"]
    sentinel = ServerProcess("sentinel", command, scratch, port)
    findings = doctor.findings(sentinel.port, "--dir", scratch)
    sentinel.stop()
    assert findings["server"]["level"] == "problem"
    assert "is a Sentinel" in findings["server"]["sentence"]


def test_a_server_that_was_named_and_is_not_there_is_a_problem(
    doctor: Doctor, tmp_path: Path
) -> None:
    url = f"redis://127.0.0.1:{free_port()}"
    assert doctor("--url", url, "--dir", tmp_path) == 1
    assert f"No server answers at {url}" in doctor.out and "disk sync" in doctor.out
    assert doctor.out.rstrip().splitlines()[-1].startswith("1 problem, ")


def test_a_server_that_nobody_named_and_is_not_there_is_unknown() -> None:
    with pytest.raises(LinkError) as caught:
        Link(Address(port=free_port()), is_text=True)
    found = absent_finding(caught.value, is_asked_for=False)
    assert found.level is Level.UNKNOWN and "only the machine" in found.sentence


def test_a_server_that_nobody_named_and_refuses_is_a_problem(make_forebay: Make) -> None:
    server = make_forebay("--requirepass", "sesame")
    with Link(Address(port=server.port), is_text=True) as link:
        error = first_look(Tree(), link)
    assert isinstance(error, LinkError)
    assert absent_finding(error, is_asked_for=False).level is Level.PROBLEM


def test_a_server_that_ends_while_it_is_watched_is_a_problem(make_redis: Make) -> None:
    server = make_redis()
    with meeting(Tree(), Address(port=server.port)) as met:
        assert isinstance(met, Met)
        server.kill()
        _, about = examine_both(Tree(), met, server.directory, 0.05)
    (found,) = about.findings
    assert found.level is Level.PROBLEM and "closed the connection" in found.sentence


def test_a_folder_that_is_not_there_is_a_problem(doctor: Doctor, make_forebay: Make) -> None:
    assert doctor("--url", url_of(make_forebay().port), "--dir", "/no/such/place") == 1
    assert "/no/such/place cannot be written to (No such file or directory)" in doctor.out


# The line


def test_the_variable_names_the_server_and_an_empty_one_names_none(
    make_forebay: Make, doctor: Doctor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOREBAY_URL", url_of(make_forebay().port))
    assert doctor(*QUICK_DISK) == 0
    assert "  ok       server" in doctor.out
    monkeypatch.setenv("FOREBAY_URL", "")
    doctor()
    assert "the server at redis://127.0.0.1:6379" in doctor.out


def test_help_says_what_the_exit_code_means_and_shows_examples(doctor: Doctor) -> None:
    assert doctor("--help") == 0
    assert "0 all is well, or there is only advice; 1 at least one problem; 2" in doctor.out
    for word in (
        "--url URL",
        "--dir PATH",
        "--seconds N",
        "--json",
        "FOREBAY_URL",
        "forebay doctor --json",
    ):
        assert word in doctor.out


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--seconds", "0"], "argument --seconds: '0' is no number of seconds from 0.01 to"),
        (["--seconds", "soon"], "argument --seconds: 'soon' is no number of seconds"),
        (["--seconds", "nan"], "argument --seconds: 'nan' is no number of seconds"),
        (["--url", "http://a:secret@b"], "argument --url: 'http://b' cannot be used; a server is"),
        (["--url", "redis://h:port"], "argument --url: 'redis://h:port' has a port that is no"),
        (["--dir", ""], "argument --dir: an empty word is no path"),
        (["--uri", "x"], "no option --uri; did you mean --url?"),
    ],
)
def test_a_mistake_is_one_sentence(args: list[str], told: str, doctor: Doctor) -> None:
    assert doctor(*args) == 2
    assert doctor.err.startswith(f"forebay: {told}") and doctor.err.count("\n") == 1
    assert doctor.out == "" and "secret" not in doctor.err
