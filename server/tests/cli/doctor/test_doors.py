"""Who can connect and who can listen in: open ports, TLS, files with secrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from forebay.cli.doctor import doors
from forebay.cli.doctor.finding import Level
from forebay.cli.doctor.patient import Look, Patient
from forebay.cli.doctor.tree import Tree
from forebay.cli.remote.address import Address
from server.tests.support.doctor import Doctor, levels
from testkit.servers import ServerProcess

HERE = {"bind": "127.0.0.1 -::1", "protected-mode": "yes", "port": "6379", "tls-port": "0"}
EVERYWHERE = HERE | {"bind": "*"}
NOTHING = Look({}, 0.0, 0.0)


def patient(settings: dict[str, str], is_open: bool | None = True) -> Patient:
    return replace(Patient(Address(), NOTHING, NOTHING, settings), is_open=is_open)


@pytest.mark.parametrize(
    ("settings", "is_open", "level", "told"),
    [
        (HERE, True, Level.OK, "only this machine"),
        (EVERYWHERE, False, Level.OK, "must give a password"),
        (EVERYWHERE, True, Level.ADVICE, "only protected mode"),
        (EVERYWHERE | {"protected-mode": "no"}, True, Level.PROBLEM, "may read and delete"),
        (HERE | {"bind": "", "protected-mode": "no"}, True, Level.PROBLEM, "Every machine"),
        (HERE | {"bind": "127.0.0.1 10.0.0.5"}, True, Level.ADVICE, "protected mode"),
        (HERE, None, Level.UNKNOWN, "could not be tested"),
        ({}, True, Level.UNKNOWN, "could not be tested"),
    ],
)
def test_an_open_port_without_a_password(
    settings: dict[str, str], is_open: bool | None, level: Level, told: str
) -> None:
    found = doors.password_finding(patient(settings, is_open))
    assert found.level is level and told in found.sentence, found
    assert bool(found.do) == (level in (Level.ADVICE, Level.PROBLEM))


@pytest.mark.parametrize(
    ("settings", "level", "told"),
    [
        (HERE, Level.OK, "Only this machine"),
        (EVERYWHERE, Level.ADVICE, "without TLS"),
        (EVERYWHERE | {"tls-port": "6380"}, Level.ADVICE, "port 6379 takes clients without it"),
        (EVERYWHERE | {"tls-port": "6380", "port": "0"}, Level.OK, "with TLS, at port 6380"),
        (HERE | {"tls-port": "6380", "tls-protocols": "TLSv1.1 TLSv1.2"}, Level.PROBLEM, "tlsv1.1"),
        (HERE | {"tls-port": "6380", "tls-protocols": "TLSv1.2 TLSv1.3"}, Level.OK, "Only this"),
    ],
)
def test_tls_that_is_off_or_old(settings: dict[str, str], level: Level, told: str) -> None:
    found = doors.tls_finding(patient(settings))
    assert found.level is level and told in found.sentence, found
    assert bool(found.do) == (level in (Level.ADVICE, Level.PROBLEM))


def test_files_with_secrets_that_others_may_read(tmp_path: Path) -> None:
    users, config = tmp_path / "users.acl", tmp_path / "forebay.conf"
    users.write_text("user default on nopass ~* &* +@all\n")
    config.write_text("port 6379\nrequirepass secret\n")
    users.chmod(0o640)
    config.chmod(0o600)
    settings = {"dir": str(tmp_path), "aclfile": "users.acl"}
    info = {"config_file": str(config)}
    found = doors.secrets_finding(Tree(), info, settings)
    assert found.level is Level.PROBLEM and found.do == f"chmod 600 {users}"
    users.chmod(0o600)
    assert doors.secrets_finding(Tree(), info, settings).level is Level.OK
    config.chmod(0o644)
    assert doors.secrets_finding(Tree(), info, settings).do == f"chmod 600 {config}"
    config.write_text("port 6379\n# requirepass is set elsewhere\n")
    assert doors.secrets_finding(Tree(), info, settings).level is Level.OK


def test_a_configuration_without_secrets_may_be_read_by_anybody(tmp_path: Path) -> None:
    config = tmp_path / "forebay.conf"
    config.write_text("\nport 6379\n")
    config.chmod(0o644)
    found = doors.secrets_finding(Tree(), {"config_file": str(config)}, {})
    assert found.level is Level.OK and "no file" in found.sentence


def test_a_running_server_is_tried_without_its_password(
    make_forebay: Callable[..., ServerProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    server, doctor = make_forebay("--requirepass", "secret"), Doctor(capsys)
    assert doors.opens_without_password(Address(port=server.port, password="secret")) is False
    with server.client() as client:
        client("AUTH", "secret")
        client("CONFIG", "SET", "requirepass", "")
        assert doors.opens_without_password(Address(port=server.port)) is True
    found = doctor.findings(server.port)
    assert {"password", "TLS", "files with secrets"} <= levels(found, "ok")
