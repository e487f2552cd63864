"""Certificates for tests of TLS: our own CA and its signed certificates, as files.

certificates = Certificates(folder)
certificates.directives()         tls-cert-file, tls-key-file, tls-ca-cert-file for a server
certificates.context()            for a client with a certificate; None: without one
certificates.issue("other")       one more pair of files, of this CA or of another
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Pair:
    """A certificate with its chain, and its key."""

    cert: Path
    key: Path


class Certificates:
    """One CA and the files that it signed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.ca = trustme.CA()
        self.ca_file = folder / "ca.pem"
        self.ca.cert_pem.write_to_path(self.ca_file)
        self.server = self.issue("server")
        self.client = self.issue("client")

    def issue(
        self, name: str, ca: trustme.CA | None = None, not_after: datetime | None = None
    ) -> Pair:
        """A pair of files for this machine, with ``name`` as its common name."""
        signer = self.ca if ca is None else ca
        leaf = signer.issue_cert("localhost", "127.0.0.1", common_name=name, not_after=not_after)
        pair = Pair(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        pair.cert.write_bytes(b"".join(pem.bytes() for pem in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(pair.key)
        return pair

    def directives(self, **more: str | int) -> dict[str, str | int]:
        """The directives of a server, in the form for Node."""
        return {
            "tls_cert_file": str(self.server.cert),
            "tls_key_file": str(self.server.key),
            "tls_ca_cert_file": str(self.ca_file),
            **more,
        }

    def words(self, **more: str | int) -> list[str]:
        """The same as words of a command line."""
        return [
            word
            for name, value in self.directives(**more).items()
            for word in (f"--{name.replace('_', '-')}", str(value))
        ]

    def context(self, pair: Pair | None = None) -> ssl.SSLContext:
        """A client that trusts the CA, and shows a certificate if it has one."""
        context = ssl.create_default_context(cafile=str(self.ca_file))
        if pair is not None:
            context.load_cert_chain(pair.cert, pair.key)
        return context
