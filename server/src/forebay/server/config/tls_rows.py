"""The rows of TLS: where it listens, which files it needs, which clients it admits.

A change of any but the port applies to new connections; open connections stay as they are.
docs/decisions/0021-tls.md says what Python's ssl module can do and what it cannot.
"""

from __future__ import annotations

from forebay.server.config.kinds import Bool, Choice, Int, Text
from forebay.server.config.row import AT_ONCE, Directive

#: Versions that this server speaks, and those that only Redis speaks.
SPOKEN = ("TLSv1.2", "TLSv1.3")
BROKEN = ("TLSv1", "TLSv1.1")


class Protocols(Text):
    """Versions of TLS, separated by blanks; empty means all that this server speaks."""

    name = "versions"

    def one(self, word: str) -> str:
        known = {name.lower(): name for name in (*SPOKEN, *BROKEN)}
        for version in word.split():
            name = known.get(version.lower())
            if name in BROKEN:
                raise ValueError(
                    f"{name} is broken and not supported here; use TLSv1.2, TLSv1.3 or both"
                )
            if name is None:
                raise ValueError("Invalid tls-protocols specified. Use TLSv1.2, TLSv1.3 or both")
        return word


class Field(Choice):
    """A field of a certificate, shown as Redis shows it."""

    def one(self, word: str) -> str:
        return super().one(word).replace("cn", "CN")


TLS = [
    Directive(
        "tls-port",
        "tls_port",
        Int(0, 65535),
        AT_ONCE,
        "The TCP port that speaks TLS; 0 listens on none. With `port 0` it is the only one.",
    ),
    Directive(
        "tls-cert-file",
        "tls_cert_file",
        Text(),
        AT_ONCE,
        "The certificate of this server, followed by those between it and the CA (PEM). "
        "CONFIG SET reads the file again, also under the same name.",
    ),
    Directive(
        "tls-key-file", "tls_key_file", Text(), AT_ONCE, "The private key of that certificate."
    ),
    Directive(
        "tls-key-file-pass",
        "tls_key_file_pass",
        Text(),
        AT_ONCE,
        "The password of that key, if it has one.",
    ),
    Directive(
        "tls-client-cert-file",
        "tls_client_cert_file",
        Text(),
        AT_ONCE,
        "The certificate that this server shows to its primary; empty is the same as for clients.",
    ),
    Directive(
        "tls-client-key-file",
        "tls_client_key_file",
        Text(),
        AT_ONCE,
        "The private key of that certificate.",
    ),
    Directive(
        "tls-client-key-file-pass",
        "tls_client_key_file_pass",
        Text(),
        AT_ONCE,
        "The password of that key, if it has one.",
    ),
    Directive(
        "tls-dh-params-file",
        "tls_dh_params_file",
        Text(),
        AT_ONCE,
        "Parameters for Diffie-Hellman without curves, which only old clients need.",
    ),
    Directive(
        "tls-ca-cert-file",
        "tls_ca_cert_file",
        Text(),
        AT_ONCE,
        "Certificates of the CAs whose clients, and whose primary, are trusted (PEM).",
    ),
    Directive(
        "tls-ca-cert-dir",
        "tls_ca_cert_dir",
        Text(),
        AT_ONCE,
        "A directory of such certificates, as `openssl rehash` prepares it.",
    ),
    Directive(
        "tls-auth-clients",
        "tls_auth_clients",
        Choice("no", "yes", "optional"),
        AT_ONCE,
        "Whether a client must show a certificate of a trusted CA; optional: if it shows one, it "
        "must be good.",
    ),
    Directive(
        "tls-auth-clients-user",
        "tls_auth_clients_user",
        Field("cn", "off"),
        AT_ONCE,
        "CN: a client whose certificate has the name of a user as its common name is that user, "
        "without a password.",
    ),
    Directive(
        "tls-replication",
        "tls_replication",
        Bool(),
        AT_ONCE,
        "Use TLS for the link to the primary.",
    ),
    Directive(
        "tls-protocols",
        "tls_protocols",
        Protocols(),
        AT_ONCE,
        "Allowed versions: TLSv1.2, TLSv1.3 or, if empty, both. Older ones are refused.",
    ),
    Directive(
        "tls-ciphers",
        "tls_ciphers",
        Text(),
        AT_ONCE,
        "Ciphers of TLS 1.2, as `openssl ciphers` names them; empty leaves it to Python.",
    ),
    Directive(
        "tls-ciphersuites",
        "tls_ciphersuites",
        Text(),
        AT_ONCE,
        "Cipher suites of TLS 1.3. Before Python 3.15 none can be left out: a list that does is "
        "refused.",
    ),
    Directive(
        "tls-prefer-server-ciphers",
        "tls_prefer_server_ciphers",
        Bool(),
        AT_ONCE,
        "The server's order of ciphers applies, not the client's.",
    ),
    Directive(
        "tls-session-caching",
        "tls_session_caching",
        Bool(),
        AT_ONCE,
        "Clients that reconnect may resume their session; with no, none gets a session ticket.",
    ),
    Directive(
        "max-new-tls-connections-per-cycle",
        "max_new_tls_per_turn",
        Int(1, 1000),
        AT_ONCE,
        "How many handshakes take a step in one turn of the loop, so that a crowd of new clients "
        "does not delay the others.",
    ),
]
