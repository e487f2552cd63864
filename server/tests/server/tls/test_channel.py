"""What a TLS channel keeps for a client that does not read."""

from __future__ import annotations

import socket
import ssl

from forebay.server.net.tls_channel import Scratch, TlsChannel
from testkit.certificates import Certificates

KIB = 1024
#: Rule 2 of the channel: at most this many plain bytes wait in encrypted form.
MOST_OWED = 64 * KIB
#: A record adds fewer bytes than this to its 16 KiB.
SEAL = 64


def shaken_hands(
    certificates: Certificates,
) -> tuple[ssl.SSLObject, ssl.MemoryBIO, ssl.MemoryBIO]:
    """The server's side of a connection, after a handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server.cert, certificates.server.key)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = certificates.context().wrap_bio(to_client, to_server, server_hostname="localhost")
    waiting = [client, server]
    while waiting:
        side = waiting.pop(0)
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            waiting.append(side)
    to_client.read()  # session tickets, which were not requested
    return server, to_server, to_client


def test_a_deaf_client_is_owed_one_batch_in_encrypted_form(certificates: Certificates) -> None:
    cipher, incoming, outgoing = shaken_hands(certificates)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        channel = TlsChannel(ours.fileno(), cipher, incoming, outgoing, Scratch())
        channel.say(bytes(4096 * KIB))
        assert 0 < channel.owed <= MOST_OWED
        assert 0 < len(channel.unsent) <= MOST_OWED + MOST_OWED // (16 * KIB) * SEAL
        assert outgoing.pending == 0
