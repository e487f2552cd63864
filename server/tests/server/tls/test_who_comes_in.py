"""Which clients may speak TLS with a server: versions, certificates, plain text."""

from __future__ import annotations

import ssl
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from server.tests.server.tls.conftest import MakeServer, TlsServer
from testkit.certificates import Certificates
from testkit.resp import RawClient, ReplyError, encode
from testkit.waiting import wait_until

REFUSED = (ssl.SSLError, ConnectionError, EOFError)


def says(server: TlsServer, words: str) -> None:
    """Wait until the log has these words."""
    wait_until(f"the log says {words!r}", lambda: words in server.process.log())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_and_1_3_are_spoken(server: TlsServer, version: ssl.TLSVersion) -> None:
    context = server.certificates.context(server.certificates.client)
    context.minimum_version = context.maximum_version = version
    with RawClient(server.address, tls=context) as client:
        assert client("PING") == "PONG"
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.version() == {772: "TLSv1.3", 771: "TLSv1.2"}[version]


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_tls_1_0_and_1_1_are_refused(server: TlsServer, version: ssl.TLSVersion) -> None:
    context = server.certificates.context(server.certificates.client)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with pytest.raises(REFUSED):
        RawClient(server.address, tls=context)
    says(server, "TLS: unsupported protocol")


def test_a_server_may_be_held_to_one_version(start: MakeServer) -> None:
    server = start("--tls-protocols", "TLSv1.2")
    with server.client() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.version() == "TLSv1.2"
    server.control("CONFIG", "SET", "tls-protocols", "TLSv1.3")
    with server.client() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.version() == "TLSv1.3"


def test_without_a_certificate_nobody_comes_in(server: TlsServer) -> None:
    with pytest.raises(REFUSED):
        server.pings(stranger=True)
    says(server, "peer did not return a certificate")


def test_a_certificate_of_another_ca_is_refused(server: TlsServer) -> None:
    foreign = server.certificates.issue("foreign", trustme.CA())
    with pytest.raises(REFUSED):
        server.pings(foreign)
    says(server, "its certificate is not accepted")


def test_an_expired_certificate_is_refused(server: TlsServer) -> None:
    old = server.certificates.issue("old", not_after=datetime(2024, 1, 1, tzinfo=UTC))
    with pytest.raises(REFUSED):
        server.pings(old)
    says(server, "certificate has expired")


def test_a_client_that_trusts_another_ca_goes_away(server: TlsServer, tmp_path: Path) -> None:
    context = Certificates(tmp_path).context(server.certificates.client)
    with pytest.raises(ssl.SSLCertVerificationError):
        RawClient(server.address, tls=context)
    assert server.pings()


def test_with_auth_clients_no_everybody_comes_in_and_with_optional_only_the_good(
    start: MakeServer,
) -> None:
    server = start("--tls-auth-clients", "no")
    foreign = server.certificates.issue("foreign2", trustme.CA())
    assert server.pings(stranger=True)
    assert server.pings(foreign)
    assert server.control("CONFIG", "SET", "tls-auth-clients", "optional") == "OK"
    assert server.pings(stranger=True)
    assert server.pings()
    with pytest.raises(REFUSED):
        server.pings(foreign)


def test_a_chain_is_sent_and_a_chain_of_a_client_is_followed(
    start: MakeServer, certificates: Certificates
) -> None:
    between = certificates.ca.create_child_ca()
    pair = certificates.issue("chained", between)
    server = start("--tls-cert-file", str(pair.cert), "--tls-key-file", str(pair.key))
    with server.client(pair) as client:
        assert client("PING") == "PONG"


def test_a_plain_client_at_the_tls_port_is_closed_and_named_in_the_log(server: TlsServer) -> None:
    with RawClient(server.address) as client:
        client.send(encode("PING"))
        assert client.closed()
    says(server, "it speaks plain text, and this port speaks TLS (addr=127.0.0.1:")


def test_a_tls_client_at_the_plain_port_is_closed_and_named_in_the_log(server: TlsServer) -> None:
    context = server.certificates.context()
    with pytest.raises(REFUSED):
        RawClient(("127.0.0.1", server.process.port), tls=context)
    says(server, "it speaks TLS, and this port speaks plain text")


def test_renegotiation_is_not_possible(server: TlsServer) -> None:
    """Python's ssl cannot ask for it, so openssl does: a line with R asks for new keys."""
    pair = server.certificates.client
    line = [
        *("openssl", "s_client", "-connect", f"127.0.0.1:{server.tls_port}", "-tls1_2"),
        *("-cert", str(pair.cert), "-key", str(pair.key)),
    ]
    done = subprocess.run(line, input=b"R\n", capture_output=True, timeout=30, check=False)
    assert b"no renegotiation" in done.stderr
    assert server.pings()


def test_a_password_is_asked_for_over_tls_too(start: MakeServer) -> None:
    server = start("--requirepass", "secret")
    with server.client() as client:
        assert client("PING") == ReplyError("NOAUTH Authentication required.")
        assert client("AUTH", "secret") == "OK"
        assert client("PING") == "PONG"


def test_a_certificate_may_name_a_user(start: MakeServer) -> None:
    server = start("--tls-auth-clients-user", "CN")
    server.control("ACL", "SETUSER", "client", "on", "nopass", "+@all", "-flushall", "~own:*")
    server.control("ACL", "SETUSER", "default", "resetpass", ">secret")
    unknown = server.certificates.issue("unknown")
    with server.client() as client, server.client(unknown) as other:
        assert client("ACL", "WHOAMI") == b"client"
        assert client("SET", "own:1", "x") == "OK"
        assert isinstance(client("SET", "another", "x"), ReplyError)
        assert other("PING") == ReplyError("NOAUTH Authentication required.")
        assert other("AUTH", "secret") == "OK"
        (entry,) = [entry for entry in other("ACL", "LOG") if b"tls-cert" in entry]
        assert entry[entry.index(b"username") + 1] == b"unknown"
        assert b"acl_access_denied_tls_cert:1" in other("INFO", "stats")
        assert other("CONFIG", "GET", "tls-auth-clients-user")[1] == b"CN"
        other("ACL", "SETUSER", "client", "off")
    with server.client() as client:
        assert client("PING") == ReplyError("NOAUTH Authentication required.")


def test_no_more_come_in_than_maxclients(start: MakeServer) -> None:
    server = start("--maxclients", "2")
    with server.client() as first, server.client() as second:
        assert first("PING") == second("PING") == "PONG"
        with pytest.raises(REFUSED):
            server.pings()
        assert b"rejected_connections:1" in first("INFO", "stats")


def test_info_names_the_tls_port(start: MakeServer) -> None:
    server = start("--port", "0")
    with server.client() as client:
        text = client("INFO", "server").decode()
    assert f"tcp_port:{server.tls_port}" in text
    assert f"name=tls,bind=127.0.0.1,port={server.tls_port}" in text
    assert "name=tcp" not in text
