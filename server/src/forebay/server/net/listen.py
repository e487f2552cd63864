"""Doors: the listening sockets, on which clients arrive.

    open_tcp, open_unix  ->  Door, Door, ...    each bound, listening, non-blocking
    door.accept(n)       ->  up to n arrivals   [(socket, peer, local), ...]

Rules
  1. An address with a leading ``-`` may be missing on this machine; any other
     address that cannot be bound is an error.  ``*`` means every address.
  2. A unix socket gets its mode from the umask at the moment it is bound, and
     listens only afterwards: no client can connect through a mode that is too
     wide for an instant (CVE-2023-45145).
  3. Socket options are set on the door; each accepted socket inherits them from it (Linux).
  4. accept() never raises: it returns what it has, and ``fault`` says why the
     door should stay shut for a while (no descriptors left, say), or the loop
     would spin on it.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Sequence

from forebay.errors import ConfigError

#: Faults that mean "this machine does not have that address".
ABSENT = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENOPROTOOPT, errno.EPROTONOSUPPORT}
#: Faults of one arrival alone: the client was gone before it was accepted.
LOST = {errno.ECONNABORTED, errno.EINTR, errno.EPROTO, errno.EPERM, errno.ECONNRESET}

Arrival = tuple[socket.socket, str, str]


class Door:
    """One listening socket."""

    def __init__(self, sock: socket.socket, name: str, address: str, unix_path: str = "") -> None:
        self.sock = sock
        self.name = name
        #: As configured: an address of ``bind``, and the port.
        self.address = address
        self.unix_path = unix_path
        #: Clients of this door speak TLS.
        self.is_tls = False
        self.fault = ""

    def fileno(self) -> int:
        """The descriptor, for epoll."""
        return self.sock.fileno()

    def accept(self, most: int) -> list[Arrival]:
        """Accept up to ``most`` clients."""
        arrivals: list[Arrival] = []
        self.fault = ""
        for _ in range(most):
            try:
                sock, address = self.sock.accept()
            except BlockingIOError:
                break
            except OSError as fault:
                if fault.errno in LOST:
                    continue
                self.fault = fault.strerror or str(fault)
                break
            sock.setblocking(False)
            arrivals.append((sock, *self._names(sock, address)))
        return arrivals

    def _names(self, sock: socket.socket, address: tuple[str, int]) -> tuple[str, str]:
        """Both ends as CLIENT LIST prints them."""
        if self.unix_path:
            return f"{self.unix_path}:0", f"{self.unix_path}:0"
        return host_port(address), host_port(sock.getsockname())

    def close(self) -> None:
        """Stop listening; a unix socket's file is removed."""
        self.sock.close()
        if self.unix_path and os.path.exists(self.unix_path):
            os.unlink(self.unix_path)


def host_port(address: Sequence[object]) -> str:
    """``127.0.0.1:6379`` or ``[::1]:6379``."""
    host = str(address[0])
    return f"[{host}]:{address[1]}" if ":" in host else f"{host}:{address[1]}"


def open_tcp(
    addresses: Sequence[str], port: int, backlog: int, keepalive_s: int, is_tls: bool = False
) -> list[Door]:
    """A door for each address; none when the port is 0."""
    doors: list[Door] = []
    if port == 0:
        return doors
    try:
        for address in addresses:
            door = _open_tcp_address(address, port, backlog, keepalive_s, is_tls)
            if door is not None:
                doors.append(door)
    except ConfigError:
        for door in doors:
            door.close()
        raise
    if addresses and not doors:
        raise ConfigError(f"none of the addresses to bind exists here: {' '.join(addresses)}")
    return doors


def _open_tcp_address(
    address: str, port: int, backlog: int, keepalive_s: int, is_tls: bool
) -> Door | None:
    optional = address.startswith("-")
    host = {"*": "0.0.0.0", "::*": "::"}.get(address.lstrip("-"), address.lstrip("-"))
    sock: socket.socket | None = None
    try:
        family, _, _, _, where = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        set_keepalive(sock, keepalive_s)
        sock.bind(where)
        sock.listen(backlog)
    except OSError as fault:
        if sock is not None:
            sock.close()
        if optional and (fault.errno in ABSENT or isinstance(fault, socket.gaierror)):
            return None
        directive = "--tls-port" if is_tls else "--port"
        raise ConfigError(_why_not(f"{host}:{port}", fault, directive)) from fault
    name = host_port(where) + (" (TLS)" if is_tls else "")
    door = Door(sock, name, asked_for(address, port, is_tls))
    door.is_tls = is_tls
    return door


def asked_for(address: str, port: int, is_tls: bool) -> str:
    """One address of ``bind`` with its port, to find doors that are open already."""
    return f"{address.lstrip('-')} {port}{' TLS' if is_tls else ''}"


def set_keepalive(sock: socket.socket, keepalive_s: int) -> None:
    """Let the kernel detect dead peers: a first probe after that time, three in all."""
    if keepalive_s <= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, keepalive_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, keepalive_s // 3))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)


def open_unix(path: str, mode: int, backlog: int) -> Door:
    """A door in the file system; mode 0 leaves it to the umask of the process."""
    if os.path.lexists(path):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ConfigError(f"cannot listen on {path}: a file is in the way")
        os.unlink(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        _bind_with_mode(sock, path, mode)
        sock.listen(backlog)
    except OSError as fault:
        sock.close()
        raise ConfigError(_why_not(path, fault, "--unixsocket")) from fault
    return Door(sock, path, path, unix_path=path)


def _bind_with_mode(sock: socket.socket, path: str, mode: int) -> None:
    if not mode:
        sock.bind(path)
        return
    before = os.umask(0o777 & ~mode)
    try:
        sock.bind(path)
    finally:
        os.umask(before)


def _why_not(where: str, fault: OSError, directive: str) -> str:
    reason = fault.strerror or str(fault)
    if fault.errno == errno.EADDRINUSE:
        reason = f"something already listens there; stop it or choose another with {directive}"
    return f"cannot listen on {where}: {reason}"
