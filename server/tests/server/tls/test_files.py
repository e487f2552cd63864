"""TLS files that cannot be used: no start, one sentence; CONFIG SET changes nothing."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from server.tests.server.tls.conftest import MakeServer, TlsServer
from testkit.certificates import Certificates
from testkit.nodes import nodes_in
from testkit.resp import ReplyError
from testkit.servers import environment, free_port

NOT_UPDATED = (
    "ERR CONFIG SET failed (possibly related to argument '{}') - "
    "Unable to update TLS configuration. Check server logs."
)


def refusal(folder: Path, *words: str) -> str:
    """The error of a server that does not start."""
    command = [sys.executable, "-m", "forebay", "serve", "--port", "0", "--dir", str(folder)]
    done = subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    return lines[0].removeprefix("forebay: ")


def encrypted(source: Path, target: Path, password: str) -> Path:
    """A copy of a key that needs a password."""
    key = load_pem_private_key(source.read_bytes(), None)
    target.write_bytes(
        key.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode())
        )
    )
    return target


def bad_files(certificates: Certificates, folder: Path) -> list[tuple[str, str, str]]:
    """A directive, a file that it cannot use, and the error."""
    text = folder / "notes.txt"
    text.write_text("no keys here\n")
    torn = folder / "torn.pem"
    torn.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    locked = encrypted(certificates.server.key, folder / "locked.key", "right")
    missing = str(folder / "missing.pem")
    other = str(certificates.client.key)
    return [
        ("tls-cert-file", missing, f"tls-cert-file {missing}: No such file or directory"),
        ("tls-key-file", missing, f"tls-key-file {missing}: No such file or directory"),
        ("tls-ca-cert-file", missing, f"tls-ca-cert-file {missing}: No such file or directory"),
        ("tls-ca-cert-dir", missing, f"tls-ca-cert-dir {missing}: it is not a directory"),
        ("tls-cert-file", str(folder), f"tls-cert-file {folder}: Is a directory"),
        ("tls-cert-file", str(text), f"tls-cert-file {text}: there is no certificate in it (PEM)"),
        ("tls-key-file", str(text), f"tls-key-file {text}: there is no private key in it (PEM)"),
        ("tls-ca-cert-file", str(torn), f"tls-ca-cert-file {torn}: "),
        ("tls-cert-file", str(torn), f"tls-cert-file {torn} or tls-key-file "),
        ("tls-key-file", other, f"tls-key-file {other}: this is not the key of tls-cert-file "),
        ("tls-key-file", str(locked), f"tls-key-file {locked}: it is encrypted, and "),
        ("tls-ciphers", "rot13", "tls-ciphers rot13: no such cipher"),
        ("tls-dh-params-file", missing, f"tls-dh-params-file {missing}: No such file"),
    ]


CASES = 13


@pytest.mark.parametrize("number", range(CASES))
def test_a_bad_file_is_one_sentence_and_no_start(
    number: int, certificates: Certificates, tmp_path: Path
) -> None:
    cases = bad_files(certificates, tmp_path)
    assert len(cases) == CASES
    name, value, said = cases[number]
    words = certificates.words(tls_port=free_port())
    assert refusal(tmp_path, *words, f"--{name}", value).startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tls-cert-file", ""], "TLS needs a certificate and its key: tls-cert-file is not set"),
        (["--tls-key-file", ""], "TLS needs a certificate and its key: tls-key-file is not set"),
        (["--tls-ca-cert-file", ""], "tls-auth-clients is yes, but no trusted CA is set"),
        (
            ["--tls-ca-cert-file", "", "--tls-auth-clients", "no", "--tls-replication", "yes"],
            "tls-replication is on, but no trusted CA is set",
        ),
        (["--tls-protocols", "TLSv1.1 TLSv1.2"], "TLSv1.1 is broken and not supported here"),
        (["--tls-protocols", "SSLv3"], "Invalid tls-protocols specified"),
    ],
)
def test_what_is_missing_or_too_old_is_said_in_one_sentence(
    words: list[str], said: str, certificates: Certificates, tmp_path: Path
) -> None:
    assert said in refusal(tmp_path, *certificates.words(tls_port=free_port()), *words)


@pytest.mark.skipif(hasattr(ssl.SSLContext, "set_ciphersuites"), reason="this Python can choose")
def test_suites_that_python_cannot_leave_out_are_not_promised(
    start: MakeServer, certificates: Certificates, tmp_path: Path
) -> None:
    words = certificates.words(tls_port=free_port(), tls_ciphersuites="TLS_AES_256_GCM_SHA384")
    assert "can leave none out" in refusal(tmp_path, *words)
    everything = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    server = start("--tls-ciphersuites", everything)
    assert server.pings()
    words = ["--tls-protocols", "TLSv1.2", "--tls-ciphersuites", "TLS_AES_256_GCM_SHA384"]
    assert start(*words).pings()


def test_the_ciphers_of_tls_1_2_are_those_that_were_chosen(start: MakeServer) -> None:
    chosen = "ECDHE-ECDSA-AES256-GCM-SHA384"
    server = start("--tls-protocols", "TLSv1.2", "--tls-ciphers", chosen)
    with server.client() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        cipher = client.socket.cipher()
        assert cipher is not None and cipher[0] == chosen


def test_a_key_with_a_password_is_opened(
    start: MakeServer, certificates: Certificates, tmp_path: Path
) -> None:
    locked = encrypted(certificates.server.key, tmp_path / "locked.key", "open sesame")
    server = start("--tls-key-file", str(locked), "--tls-key-file-pass", "open sesame")
    assert server.pings()


def test_the_password_of_a_key_is_in_no_log(start: MakeServer, certificates: Certificates) -> None:
    server = start()
    server.control("CONFIG", "SET", "slowlog-log-slower-than", "0")
    for name in ("tls-key-file-pass", "tls-client-key-file-pass"):
        assert server.control("CONFIG", "SET", name, "hushhush") == "OK"
    assert "hushhush" not in repr(server.control("SLOWLOG", "GET", "10"))
    assert "hushhush" not in server.process.log()


def test_cas_in_a_directory_are_found(
    start: MakeServer, certificates: Certificates, tmp_path: Path
) -> None:
    folder = tmp_path / "cas"
    folder.mkdir()
    shutil.copy(certificates.ca_file, folder / "ca.pem")
    subprocess.run(["openssl", "rehash", str(folder)], check=True)
    server = start("--tls-ca-cert-file", "", "--tls-ca-cert-dir", str(folder))
    assert server.pings()


# -- CONFIG SET ---------------------------------------------------------------------


def serial(server: TlsServer) -> str:
    """The serial number of the certificate that new clients get."""
    with server.client() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        shown = client.socket.getpeercert()
        assert shown is not None
        return str(shown["serialNumber"])


def test_new_files_are_for_new_clients_and_the_old_ones_stay(
    start: MakeServer, certificates: Certificates
) -> None:
    server = start()
    with server.client() as old:
        before = serial(server)
        pair = certificates.issue("renewed")
        words = ("tls-cert-file", str(pair.cert), "tls-key-file", str(pair.key))
        assert server.control("CONFIG", "SET", *words) == "OK"
        assert serial(server) != before
        assert old("PING") == "PONG"


def test_a_file_that_was_replaced_under_its_name_is_read_anew(
    start: MakeServer, certificates: Certificates, tmp_path: Path
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def put(name: str) -> None:
        pair = certificates.issue(name)
        shutil.copy(pair.cert, cert)
        shutil.copy(pair.key, key)

    put("monday")
    server = start("--tls-cert-file", str(cert), "--tls-key-file", str(key))
    before = serial(server)
    put("tuesday")
    assert serial(server) == before
    assert server.control("CONFIG", "SET", "tls-cert-file", str(cert)) == "OK"
    assert serial(server) != before


def test_a_bad_file_leaves_everything_as_it_was(
    start: MakeServer, certificates: Certificates, tmp_path: Path
) -> None:
    server = start()
    before = serial(server)
    pair = certificates.issue("half")
    for name, value, said in bad_files(certificates, tmp_path):
        reply = server.control("CONFIG", "SET", name, value)
        assert reply == ReplyError(NOT_UPDATED.format(name)), name
        assert said in server.process.log()
    reply = server.control("CONFIG", "SET", "tls-cert-file", str(pair.cert))
    assert reply == ReplyError(NOT_UPDATED.format("tls-cert-file"))
    reply = server.control("CONFIG", "GET", "tls-cert-file")
    assert reply == [b"tls-cert-file", str(certificates.server.cert).encode()]
    assert serial(server) == before


def test_a_change_that_fails_elsewhere_takes_the_certificate_back(
    start: MakeServer, certificates: Certificates
) -> None:
    server = start()
    before = serial(server)
    pair = certificates.issue("taken-back")
    taken = start().process.port
    words = ("tls-cert-file", str(pair.cert), "tls-key-file", str(pair.key), "port", taken)
    assert isinstance(server.control("CONFIG", "SET", *words), ReplyError)
    assert serial(server) == before


def test_the_tls_port_comes_moves_and_goes(start: MakeServer) -> None:
    server = start()
    old, server.tls_port = server.tls_port, free_port()
    with server.process.client() as plain:
        assert plain("CONFIG", "SET", "tls-port", server.tls_port) == "OK"
        assert server.pings()
        server.tls_port, new = old, server.tls_port
        with pytest.raises(ConnectionRefusedError):
            server.client()
        server.tls_port = new
        assert plain("CONFIG", "SET", "tls-port", 0) == "OK"
        with pytest.raises(ConnectionRefusedError):
            server.client()
        assert plain("PING") == "PONG"
        assert plain("CONFIG", "SET", "tls-port", old) == "OK"
    server.tls_port = old
    assert server.pings()


def test_the_plain_port_goes_and_the_tls_port_stays(start: MakeServer) -> None:
    server = start()
    with server.client() as client:
        assert client("CONFIG", "SET", "port", 0) == "OK"
        with pytest.raises(ConnectionRefusedError):
            server.process.client()
        assert client("CONFIG", "GET", "tls-port") == [b"tls-port", str(server.tls_port).encode()]
    assert server.pings()


def test_directives_of_tls_are_kept_by_config_rewrite(
    tmp_path: Path, certificates: Certificates
) -> None:
    with nodes_in(tmp_path) as begin:
        port = free_port()
        node = begin("forebay", **certificates.directives(tls_port=port))
        assert node("CONFIG", "SET", "tls-auth-clients", "no", "tls-protocols", "TLSv1.3") == "OK"
        assert node("CONFIG", "REWRITE") == "OK"
        node.stop()
        node.restart()
        assert node("CONFIG", "GET", "tls-auth-clients") == [b"tls-auth-clients", b"no"]
        assert node("CONFIG", "GET", "tls-protocols") == [b"tls-protocols", b"TLSv1.3"]
