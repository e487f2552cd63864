"""The files of packaging/: they parse, their names exist, and the programs they start work."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from forebay.server.config.config import ROWS, Config
from testkit.places import ROOT
from testkit.servers import environment, free_port
from testkit.waiting import wait_until

PACKAGING = ROOT / "packaging"
DOCKER = PACKAGING / "docker"
SAMPLE = PACKAGING / "forebay.conf"
#: ``#directive value``: one that is off.
OFF = re.compile(r"^#(?=[a-z])", re.MULTILINE)


# -- The sample configuration


def test_the_sample_is_loaded_as_it_stands() -> None:
    config = Config.load([str(SAMPLE)])
    assert config.settings.appendonly and config.settings.protected_mode
    assert config.settings.data_dir == "/var/lib/forebay"
    assert not list(config.warnings())


def test_the_sample_is_loaded_with_every_directive_on(tmp_path: Path) -> None:
    whole = tmp_path / "whole.conf"
    whole.write_text(OFF.sub("", SAMPLE.read_text()))
    config = Config.load([str(whole)])
    assert config.settings.maxmemory == 4 << 30
    assert config.settings.requirepass


def test_every_directive_of_the_sample_is_one_that_the_server_acts_upon() -> None:
    lines = [line.lstrip("#") for line in SAMPLE.read_text().splitlines()]
    names = {line.split()[0] for line in lines if re.match(r"[a-z][a-z-]+ ", line)}
    assert len(names) > 20
    assert sorted(name for name in names if name not in ROWS) == []


# -- systemd


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(PACKAGING / "systemd" / "forebay.service")
    return parser


def test_the_unit_waits_for_the_servers_word_and_starts_what_exists() -> None:
    service = unit()["Service"]
    assert service["Type"] == "notify"
    program, command, config = service["ExecStart"].split()
    assert (Path(program).name, command, Path(config).name) == ("forebay", "serve", SAMPLE.name)
    settings = Config.load([str(SAMPLE)]).settings
    assert settings.data_dir == f"/var/lib/{service['StateDirectory']}"
    assert settings.unixsocket.startswith(f"/run/{service['RuntimeDirectory']}/")
    assert int(service["LimitNOFILE"]) > settings.maxclients


def test_the_unit_gives_no_rights_away() -> None:
    service = unit()["Service"]
    assert service["User"] == "forebay" and service["CapabilityBoundingSet"] == ""
    wanted = "NoNewPrivileges PrivateTmp PrivateDevices ProtectHome RestrictNamespaces".split()
    assert {service[name] for name in wanted} == {"yes"}
    assert service["ProtectSystem"] == "strict" and service["UMask"] == "0077"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_understands_every_line_of_the_unit(tmp_path: Path) -> None:
    text = (PACKAGING / "systemd" / "forebay.service").read_text()
    copy = tmp_path / "forebay.service"
    copy.write_text(text.replace("/opt/forebay/bin/forebay", shutil.which("true") or "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# -- Containers


def instructions() -> list[tuple[str, str]]:
    """The lines of the Dockerfile; continued lines are joined."""
    text = re.sub(r"^#.*\n", "", (DOCKER / "Dockerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    pairs = [line.split(None, 1) for line in lines if line.strip()]
    return [(name, words) for name, words in pairs]


def test_the_image_copies_files_that_are_there_and_is_not_root() -> None:
    found = instructions()
    copied = [words.split() for name, words in found if name == "COPY"]
    sources = [word for words in copied for word in words[:-1] if not word.startswith("--")]
    assert sources and all((ROOT / source).exists() for source in sources), sources
    assert [words for name, words in found if name == "USER"] == ["999:999"]
    assert sum(name == "FROM" for name, _ in found) == 2
    programs = [words for name, words in found if name in ("ENTRYPOINT", "HEALTHCHECK")]
    assert '["healthy.py"]' in programs[0] and programs[1] == '["start.sh"]'


def test_what_does_not_belong_into_an_image_is_not_sent_to_it() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {"**", "!server", "!packaging"} <= set(ignored)


def composition() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return found


def test_the_composition_is_a_primary_a_replica_and_three_sentinels() -> None:
    services = composition()["services"]
    assert set(services) == {"primary", "replica", "sentinel-1", "sentinel-2", "sentinel-3"}
    for name in ("primary", "replica"):
        build = services[name]["build"]
        context = (DOCKER / build["context"]).resolve()
        assert context == ROOT and (context / build["dockerfile"]).exists()
        assert services[name]["read_only"] and services[name]["cap_drop"] == ["ALL"]
        used = {volume.partition(":")[0] for volume in services[name]["volumes"]}
        assert used <= set(composition()["volumes"])
    assert services["replica"]["environment"]["FOREBAY_REPLICAOF"] == "primary 6379"
    for number in (1, 2, 3):
        (mounted,) = services[f"sentinel-{number}"]["volumes"]
        assert (DOCKER / mounted.partition(":")[0]).exists()
        assert set(services[f"sentinel-{number}"]["depends_on"]) <= set(services)


def test_variables_of_the_composition_are_those_of_the_start() -> None:
    services = composition()["services"]
    known = set(re.findall(r"FOREBAY_[A-Z]+", (DOCKER / "start.sh").read_text()))
    for name in ("primary", "replica"):
        assert set(services[name]["environment"]) <= known


@pytest.mark.oracle
def test_the_sentinels_read_their_file(tmp_path: Path) -> None:
    text = (DOCKER / "sentinel.conf").read_text()
    text = text.replace("monitor forebay primary", "monitor forebay 127.0.0.1")
    text = text.replace("port 26379", f"port {free_port()}").replace("dir /tmp", f"dir {tmp_path}")
    config, log = tmp_path / "sentinel.conf", tmp_path / "log"
    config.write_text(f"{text}bind 127.0.0.1\nlogfile {log}\n")
    sentinel = subprocess.Popen(["redis-sentinel", str(config)], stdout=subprocess.DEVNULL)
    try:
        wait_until("the Sentinel", lambda: log.exists() and "+monitor" in log.read_text())
    finally:
        sentinel.kill()
        sentinel.wait()


# -- The start script of the image


def start(home: Path, **variables: str) -> subprocess.Popen[bytes]:
    """Run start.sh as the image does, in another folder and on another port."""
    programs = home / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    (programs / "forebay").write_text(f'#!/bin/sh\nexec {sys.executable} -m forebay "$@"\n')
    (programs / "forebay").chmod(0o755)
    paths = f"{programs}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": paths, "FOREBAY_HOME": str(home), "FOREBAY_SAMPLE": str(SAMPLE)}
    return subprocess.Popen(
        ["sh", str(DOCKER / "start.sh"), "--port", str(free_port()), "--bind", "127.0.0.1"],
        env={**environment(), **own, **variables},
        stdout=subprocess.DEVNULL,
    )


def is_healthy(home: Path) -> bool:
    script = [sys.executable, str(DOCKER / "healthy.py")]
    return subprocess.run(script, env={**os.environ, "FOREBAY_HOME": str(home)}).returncode == 0


@pytest.mark.parametrize("password", ["", "a-long-one"])
def test_the_start_of_the_image_makes_a_configuration_and_a_healthy_server(
    server_root: Path, password: str
) -> None:
    home = server_root / f"home-{len(password)}"
    assert not is_healthy(home)
    server = start(home, FOREBAY_PASSWORD=password, FOREBAY_ANNOUNCE="primary")
    try:
        wait_until("a healthy server", lambda: is_healthy(home))
        config = home / "forebay.conf"
        assert config.stat().st_mode & 0o077 == 0
        settings = Config.load([str(config)]).settings
        assert settings.requirepass == password.encode()
        assert settings.data_dir == str(home)
        config.write_text(config.read_text() + "maxclients 77\n")
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
    again = start(home, FOREBAY_PASSWORD="another")
    try:
        wait_until("a healthy server", lambda: is_healthy(home))
        kept = Config.load([str(config)]).settings
        assert (kept.requirepass, kept.maxclients) == (password.encode(), 77)
    finally:
        again.send_signal(signal.SIGTERM)
        again.wait(20)
