"""The bytes of one connection that speaks TLS, after its handshake (tls_handshakes.py).

    socket --one receive--> Scratch --> incoming |     | --read---> the connection's buffer
                                                 | ssl |
    socket <--one send----- unsent <--- outgoing |     | <--write-- the connection's output

OpenSSL never touches the socket: it works on two buffers in memory, and we receive and send with
the calls that plain connections use.  So a request costs one receive and one send for any number
of records, where OpenSSL alone would receive the head of each record first.

Rules
  1. recv() leaves no complete record inside: epoll does not see bytes that were received but not
     decrypted.  It receives no more than surely fits the given room, which is at least
     LEAST_ROOM.
  2. send() counts bytes as sent when the socket has taken their last encrypted byte.  Until then
     they stay in the output of the connection, so its limits count them, and the next call
     begins with the same bytes.  At most BATCH_BYTES wait here in encrypted form.
  3. The answers are those of sysio.  A record that breaks the protocol is EBADMSG, and ``fault``
     says what is wrong.
  4. The two buffers in memory never shrink, and each connection has its own.  So they get a
     record or two at a time: an idle connection does not keep the room of a large transfer.
  5. After the close_notify of the other side the socket's input is shut down: epoll then reports
     the end, as it does for a plain connection, after the commands that came before.
"""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Any

from forebay import mem
from forebay.server.net import sysio

if TYPE_CHECKING:
    import ssl
else:
    from forebay.server.net.lazy_ssl import ssl

#: The most that one record takes, its head and seal included.
RECORD_BYTES = 17 << 10
#: The most that is received at a time, and given to OpenSSL at a time.
SCRATCH_BYTES = 256 << 10
FEED_BYTES = 16 << 10
#: The least room that a caller of recv() must give.
LEAST_ROOM = 2 * RECORD_BYTES
#: The plain bytes of one record, and of the records that are sent together.
PLAIN_BYTES = 16 << 10
BATCH_BYTES = 64 << 10
#: Unread bytes of the TLS protocol itself that a client may make us send.
MOST_SIDE_TALK = 64 << 10


class Scratch:
    """Buffers that all channels of a loop share: for receiving, and for decrypting a record."""

    def __init__(self) -> None:
        self.buf = bytearray(SCRATCH_BYTES)
        self.p: mem.Pointer = self.buf
        self.plain = bytearray(PLAIN_BYTES)
        self.plain_p: mem.Pointer = self.plain
        self.plain_view = memoryview(self.plain)


class TlsChannel:
    """Encrypts and decrypts for one connection."""

    def __init__(
        self,
        fd: int,
        cipher: ssl.SSLObject,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        scratch: Scratch,
    ) -> None:
        self.fd = fd
        self.cipher = cipher
        self.incoming = incoming
        self.outgoing = outgoing
        self.scratch = scratch
        # The C object inside, if there is one: it saves a call for every read and write.
        inside: Any = getattr(cipher, "_sslobj", cipher)
        self.read = inside.read
        self.write = inside.write
        self.feed = incoming.write
        self.fetch = outgoing.read
        #: Bytes arrived together with the end of the handshake.
        self.has_early = incoming.pending > 0
        #: Encrypted bytes that the socket has not taken, and how many plain bytes they hold.
        self.unsent = b""
        self.owed = 0
        self.is_ended = False
        self.fault = ""

    # In

    def recv(self, p: mem.Pointer, at: int, n: int) -> int:
        """Receive and decrypt up to n bytes into p[at:]; see sysio.recv."""
        if n < 2 * RECORD_BYTES:
            raise ValueError("less room than a record may need")
        if self.is_ended:
            return self.nothing()
        got = 0
        if self.has_early:
            self.has_early = False
        else:
            got = sysio.recv(self.fd, self.scratch.p, 0, min(n - RECORD_BYTES, SCRATCH_BYTES))
            if got <= 0:
                return got
        done = self.take(got, p, at, n)
        if done > 0:
            return done
        if self.outgoing.pending:
            self.talk_aside()
        return self.nothing()

    def take(self, got: int, p: mem.Pointer, at: int, n: int) -> int:
        """Decrypt new and earlier bytes into p[at:at+n]; how many plain bytes that gave.

        While more bytes are there than the longest record has, one is complete (rule 4).
        """
        fed = 0
        done = 0
        while got - fed > FEED_BYTES:
            self.feed(mem.to_bytes(self.scratch.p, fed, FEED_BYTES))
            fed += FEED_BYTES
            if self.incoming.pending > RECORD_BYTES:
                done += self.decrypt(p, at + done, n - done, RECORD_BYTES)
                if self.is_ended:
                    return done
        if got > fed:
            self.feed(mem.to_bytes(self.scratch.p, fed, got - fed))
        return done + self.decrypt(p, at + done, n - done, 0)

    def decrypt(self, p: mem.Pointer, at: int, n: int, rest: int) -> int:
        """Decrypt complete records into p[at:at+n], until no more than ``rest`` encrypted bytes
        are left or no record is complete; how many plain bytes that gave.
        """
        scratch = self.scratch
        done = 0
        try:
            while True:
                got = self.read(PLAIN_BYTES, scratch.plain_view)
                if got == 0:
                    self.end("")
                    break
                if got > n - done:
                    raise RuntimeError("more was received than fits")
                mem.copy(p, at + done, scratch.plain_p, 0, got)
                done += got
                if self.incoming.pending <= rest:
                    break
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as fault:
            self.end(in_words(fault))
        return done

    def nothing(self) -> int:
        """Why there are no bytes."""
        if not self.is_ended:
            return -errno.EAGAIN
        return -errno.EBADMSG if self.fault else 0

    def end(self, fault: str) -> None:
        """Receive nothing more; epoll reports the end."""
        self.is_ended = True
        self.fault = fault
        shut_input(self.fd)

    def talk_aside(self) -> None:
        """Send messages of TLS itself that no reply carries: an alert, an answer to new keys."""
        if not self.unsent:
            self.unsent = self.fetch()
            self.send_rest()
        elif self.outgoing.pending > MOST_SIDE_TALK:
            self.end("asks for answers of TLS itself and does not read them")

    # Out

    def send(self, p: mem.Source, at: int, n: int) -> int:
        """Encrypt and send up to n bytes of p[at:]; see sysio.send."""
        done = 0
        if self.unsent:
            got = self.send_rest()
            if got < 0:
                return got
            done = self.owed
            self.owed = 0
        while done < n:
            size = min(n - done, BATCH_BYTES)
            self.unsent = self.encrypt(p, at + done, size)
            got = self.send_rest()
            if got < 0:
                self.owed = size
                return done if done > 0 and sysio.again(got) else got
            done += size
        return done

    def encrypt(self, p: mem.Source, at: int, n: int) -> bytes:
        """The records of n bytes."""
        if n <= PLAIN_BYTES:
            self.write(mem.to_bytes(p, at, n))
            return self.fetch()
        records = []
        done = 0
        while done < n:
            done += self.write(mem.to_bytes(p, at + done, min(n - done, PLAIN_BYTES)))
            records.append(self.fetch())
        return b"".join(records)

    def send_rest(self) -> int:
        """Send encrypted bytes; 0 when all are sent, else minus an errno."""
        size = len(self.unsent)
        got = sysio.send(self.fd, self.unsent, 0, size)
        if got == size:
            self.unsent = b""
            return 0
        if got < 0:
            return got
        self.unsent = self.unsent[got:]
        return -errno.EAGAIN

    # The other side

    def common_name(self) -> str:
        """The name in the certificate of the other side; empty if it sent none."""
        shown: Any = self.cipher.getpeercert() or {}
        for part in shown.get("subject", ()):
            for field, value in part:
                if field == "commonName":
                    return str(value)
        return ""

    # The end

    def say(self, text: bytes) -> None:
        """Send a last text, as far as the socket takes it."""
        self.send(text, 0, len(text))

    def close(self) -> None:
        """Send close_notify, unless a record is half sent."""
        if self.unsent or self.fault:
            return
        try:
            self.cipher.unwrap()
        except OSError:
            pass  # the other side's close_notify is not awaited
        self.unsent = self.fetch()
        self.send_rest()


def shut_input(fd: int) -> None:
    """Let epoll report the end of what a socket receives."""
    sock = socket.socket(fileno=fd)
    try:
        sock.shutdown(socket.SHUT_RD)
    except OSError:
        pass  # it is gone already
    finally:
        sock.detach()


def in_words(fault: ssl.SSLError) -> str:
    """An error of OpenSSL, for the log."""
    verify = getattr(fault, "verify_message", "")
    if verify:
        return f"TLS: its certificate is not accepted: {verify}"
    reason = fault.reason or fault.strerror or str(fault)
    return "TLS: " + reason.replace("_", " ").lower()
