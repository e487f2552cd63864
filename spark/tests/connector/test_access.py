"""Servers with access control: TLS, users with few rights."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forebay_spark.errors import ServerError
from forebay_spark.options import BATCH, read_options
from forebay_spark.read import batch
from forebay_spark.servers import state
from forebay_spark.servers.connect import Server
from forebay_spark.values.schema import PLAIN
from spark.tests.support.spark_streams import Target, numbers_of, read_tasks
from testkit.servers import ServerProcess, free_port


def read(url: str, **given: str) -> list[int]:
    reader = batch.reader(PLAIN, read_options({"url": url, "streams": "s", **given}, BATCH))
    return numbers_of(read_tasks(reader, reader.partitions()))


def certificate(place: Path) -> tuple[str, str]:
    """A self-signed certificate for this machine, and its key."""
    names = place / "cert.pem", place / "key.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command = ["openssl", "req", *kind, *subject, "-out", names[0], "-keyout", names[1]]
    subprocess.run(command, check=True, capture_output=True)
    return str(names[0]), str(names[1])


def test_tls_is_spoken_and_certificates_are_checked(
    make_redis: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    cert, key = certificate(tmp_path)
    port = free_port()
    tls = ("--tls-cert-file", cert, "--tls-key-file", key, "--tls-auth-clients", "no")
    server = make_redis("--tls-port", str(port), *tls)
    Target(server).add("s", 5)
    url = f"rediss://127.0.0.1:{port}"
    assert read(f"{url}?ssl_ca_certs={cert}") == [0, 1, 2, 3, 4]
    options = read_options({"url": url, "streams": "s", "timeoutSeconds": "5"}, BATCH)
    with pytest.raises(ServerError, match=r"No server answers at rediss://.*certificate"):
        state.fetch(Server(options), "s")


def test_a_user_needs_only_the_rights_to_look_and_read(
    make_redis: Callable[..., ServerProcess],
) -> None:
    target = Target(make_redis())
    target.add("s", 5)
    rights: Any = ("+xinfo", "+xrange", "~s")
    target.client.execute_command("ACL", "SETUSER", "ann", "on", ">secret", *rights)
    place = f"127.0.0.1:{target.port}"
    assert read(f"redis://ann:secret@{place}") == [0, 1, 2, 3, 4]
    assert read(f"redis://{place}", user="ann", password="secret") == [0, 1, 2, 3, 4]
    with pytest.raises(ServerError, match="o permissions"):
        read(f"redis://ann:secret@{place}", streams="other")
    with pytest.raises(ServerError, match=r"refuses the login .*Check user and password"):
        read(f"redis://ann:guess@{place}")
