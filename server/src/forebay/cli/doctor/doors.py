"""Access: passwords, TLS, and files with secrets in them.

Doctor tests whether a password is needed, instead of reading the setting: a separate connection
sends PING without one.  So doctor never asks for a password, and finds a default user without
one too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from forebay.cli.doctor.finding import Finding, advice, ok, problem, unknown
from forebay.cli.doctor.patient import Patient
from forebay.cli.doctor.tree import Tree
from forebay.cli.remote.address import Address
from forebay.cli.remote.link import Link, LinkError, Refusal

PASSWORD, TLS, SECRETS = "password", "TLS", "files with secrets"

#: Addresses of ``bind`` that only this machine can reach.
LOOPBACK = ("127.", "::1", "localhost")
OLD_PROTOCOLS = frozenset(("tlsv1", "tlsv1.0", "tlsv1.1", "sslv3"))
#: Directives that make a configuration file secret.
SECRET_WORDS = frozenset(
    "requirepass masterauth primaryauth user tls-key-file-pass tls-client-key-file-pass".split()
)
#: Directives that name files which only their owner may read.
SECRET_FILES = ("aclfile", "tls-key-file", "tls-client-key-file")
FOR_OTHERS = 0o077


def opens_without_password(address: Address) -> bool | None:
    """Whether a client that gives no password is served; None if that cannot be tried."""
    stranger = replace(address, user="", password="", database=0)
    try:
        with Link(stranger, is_text=True) as link:
            reply = link.ask("PING")
    except LinkError:
        return None
    return not isinstance(reply, Refusal)


def is_public(settings: Mapping[str, str]) -> bool | None:
    """Whether other machines can reach the port; None if the server does not tell."""
    bind = settings.get("bind")
    if bind is None:
        return None
    words = [word.lstrip("-").lower() for word in bind.split()]
    return not words or any(not word.startswith(LOOPBACK) for word in words)


def password_finding(patient: Patient) -> Finding:
    """Whether the port is open to other machines without a password."""
    is_open, public = patient.is_open, is_public(patient.settings)
    facts = {"needs_password": None if is_open is None else not is_open, "public": public}
    if is_open is None or public is None:
        return unknown(PASSWORD, "Whether a password is needed could not be tested", "", **facts)
    if not is_open:
        return ok(PASSWORD, "A client must give a password", **facts)
    if not public:
        return ok(PASSWORD, "No password is needed; only this machine can connect", **facts)
    do = patient.address.setting("requirepass", "A-LONG-PASSWORD")
    if patient.settings.get("protected-mode") == "yes":
        return advice(
            PASSWORD,
            "No password is needed, and the port is open to other machines: only protected mode "
            "turns them away",
            do,
            **facts,
        )
    return problem(
        PASSWORD, "Every machine that reaches the port may read and delete everything", do, **facts
    )


def tls_finding(patient: Patient) -> Finding:
    """Whether others on the network can read the traffic."""
    settings = patient.settings
    tls_port, port = patient.setting("tls-port"), patient.setting("port")
    protocols = settings.get("tls-protocols", "").lower().split()
    facts = {"tls_port": tls_port, "port": port, "protocols": protocols}
    old = sorted(OLD_PROTOCOLS.intersection(protocols))
    if tls_port and old:
        do = patient.address.setting("tls-protocols", "TLSv1.2 TLSv1.3")
        return problem(TLS, f"Old and broken versions are allowed: {', '.join(old)}", do, **facts)
    if is_public(settings) is None:
        return unknown(TLS, "The server does not tell where it listens", "", **facts)
    if not is_public(settings):
        return ok(TLS, "Only this machine can connect", **facts)
    if not tls_port:
        return advice(
            TLS,
            "The port is open to other machines without TLS: passwords and data can be read on "
            "the way (tls-port, or a private network)",
            "forebay serve --help tls-port",
            **facts,
        )
    if port:
        return advice(
            TLS,
            f"TLS is at port {tls_port}, and port {port} takes clients without it",
            patient.address.setting("port", "0"),
            **facts,
        )
    return ok(TLS, f"Clients of other machines connect with TLS, at port {tls_port}", **facts)


def secrets_finding(tree: Tree, info: Mapping[str, str], settings: Mapping[str, str]) -> Finding:
    """Files of a server on this machine that hold secrets, and that others may read."""
    folder = settings.get("dir", "")
    named = [settings.get(name, "") for name in SECRET_FILES]
    paths = [str(Path(folder, name)) for name in named if name]
    config = info.get("config_file", "")
    if config and _has_secrets(tree.text(config) or ""):
        paths.append(config)
    readable = [path for path in paths if _mode(tree, path) & FOR_OTHERS]
    if readable:
        return problem(
            SECRETS,
            f"Other users of this machine can read secrets in {', '.join(readable)}",
            f"chmod 600 {' '.join(readable)}",
            files=readable,
        )
    if not paths:
        return ok(SECRETS, "The server has no file with a password or key in it", files=[])
    return ok(SECRETS, f"Only the server's user can read {', '.join(paths)}", files=paths)


def _has_secrets(text: str) -> bool:
    """Whether a configuration file names a password, or a user."""
    return any(
        line.split()[0].lower() in SECRET_WORDS for line in text.splitlines() if line.split()
    )


def _mode(tree: Tree, path: str) -> int:
    """The permissions of a file; 0 if it does not exist."""
    try:
        return (tree.root / path.lstrip("/")).stat().st_mode
    except OSError:
        return 0
