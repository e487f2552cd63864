"""Certificates, keys and rules of TLS, as OpenSSL wants them: from settings to contexts.

    settings --load()--> accepts   for clients that connect    (tls-port)
                     '-> connects  for the link to the primary (tls-replication)

Rules
  1. All or nothing: both contexts are made before either replaces the old one, so that a bad
     file leaves the server as it was (CONFIG SET) or stops the start.
  2. Open connections keep the context that they began with.
  3. For every wrong file there is one sentence that names the directive and the file.
  4. Only TLS 1.2 and 1.3, no compression and no renegotiation, whatever OpenSSL's own settings say.
  5. As in Redis, the other side's certificate must come from a trusted CA; its name is not
     compared with a host name, because replicas and primaries are known by addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.commands.api.settings import Settings
from forebay.errors import ConfigError

if TYPE_CHECKING:
    import ssl
else:
    from forebay.server.net.lazy_ssl import ssl

#: Names in the directives and in ``ssl``; the lowest version first.
VERSIONS = {"tlsv1.2": "TLSv1_2", "tlsv1.3": "TLSv1_3"}
AUTH = {"no": "CERT_NONE", "optional": "CERT_OPTIONAL", "yes": "CERT_REQUIRED"}
#: The suites of TLS 1.3 that OpenSSL offers, of which Python before 3.15 leaves none out.
SUITES = {"TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256"}


@dataclass(slots=True, frozen=True)
class Identity:
    """A certificate and its key, and the directives that name them."""

    cert: str
    key: str
    password: str
    prefix: str

    def load(self, context: ssl.SSLContext) -> None:
        """Let the context send this certificate; raises ConfigError."""
        cert, key = f"{self.prefix}-cert-file", f"{self.prefix}-key-file"
        look_into(cert, self.cert, "CERTIFICATE-----")
        look_into(key, self.key, "PRIVATE KEY-----")
        try:
            # A password by function: OpenSSL must not ask for one at the terminal.
            context.load_cert_chain(self.cert, self.key, lambda: self.password)
        except ssl.SSLError as fault:
            if fault.reason == "KEY_VALUES_MISMATCH":
                what = f"{key} {self.key}: this is not the key of {cert} {self.cert}"
            elif is_encrypted(self.key):
                what = f"{key} {self.key}: it is encrypted, and {key}-pass does not open it"
            else:
                what = f"{cert} {self.cert} or {key} {self.key}: {reason_of(fault)}"
            raise ConfigError(what) from None


class TlsContexts:
    """The contexts from which TLS connections are made."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.accepts: ssl.SSLContext | None = None
        self.connects: ssl.SSLContext | None = None

    def load(self) -> None:
        """Read all files, if TLS is used; raises ConfigError, and then changes nothing."""
        settings = self.settings
        if not settings.tls_port and not settings.tls_replication:
            return
        self.check()
        own = Identity(
            settings.tls_cert_file, settings.tls_key_file, settings.tls_key_file_pass, "tls"
        )
        as_client = own
        if settings.tls_client_cert_file and settings.tls_client_key_file:
            as_client = Identity(
                settings.tls_client_cert_file,
                settings.tls_client_key_file,
                settings.tls_client_key_file_pass,
                "tls-client",
            )
        accepts = self.for_clients(own)
        self.connects = self.for_primary(as_client)
        self.accepts = accepts

    def check(self) -> None:
        """Check required settings before any file is read."""
        settings = self.settings
        for name, value in (
            ("tls-cert-file", settings.tls_cert_file),
            ("tls-key-file", settings.tls_key_file),
        ):
            if not value:
                raise ConfigError(f"TLS needs a certificate and its key: {name} is not set")
        if settings.tls_ca_cert_file or settings.tls_ca_cert_dir:
            return
        if settings.tls_auth_clients != "no":
            raise ConfigError(
                f"tls-auth-clients is {settings.tls_auth_clients}, but no trusted CA is set: "
                "set tls-ca-cert-file or tls-ca-cert-dir, or write 'tls-auth-clients no'"
            )
        if settings.tls_replication:
            raise ConfigError(
                "tls-replication is on, but no trusted CA is set: set tls-ca-cert-file or "
                "tls-ca-cert-dir"
            )

    def for_clients(self, identity: Identity) -> ssl.SSLContext:
        """The context for clients."""
        settings = self.settings
        context = self.base(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), identity)
        context.verify_mode = ssl.VerifyMode[AUTH[settings.tls_auth_clients]]
        if not settings.tls_prefer_server_ciphers:
            context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
        if not settings.tls_session_caching:
            context.options |= ssl.OP_NO_TICKET
            context.num_tickets = 0
        if settings.tls_dh_params_file:
            path = settings.tls_dh_params_file
            look_into("tls-dh-params-file", path, "DH PARAMETERS-----")
            try:
                context.load_dh_params(path)
            except ssl.SSLError as fault:
                raise ConfigError(f"tls-dh-params-file {path}: {reason_of(fault)}") from None
        return context

    def for_primary(self, identity: Identity) -> ssl.SSLContext:
        """The context of the link to the primary."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        return self.base(context, identity)

    def base(self, context: ssl.SSLContext, identity: Identity) -> ssl.SSLContext:
        """Settings that both contexts share."""
        settings = self.settings
        spoken = versions(settings.tls_protocols)
        context.minimum_version, context.maximum_version = spoken[0], spoken[-1]
        context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
        identity.load(context)
        self.trust(context)
        if settings.tls_ciphers:
            try:
                context.set_ciphers(settings.tls_ciphers)
            except ssl.SSLError:
                raise ConfigError(f"tls-ciphers {settings.tls_ciphers}: no such cipher") from None
        choose_suites(context, settings.tls_ciphersuites)
        return context

    def trust(self, context: ssl.SSLContext) -> None:
        """Load the CAs whose certificates are trusted."""
        path, folder = self.settings.tls_ca_cert_file, self.settings.tls_ca_cert_dir
        if path:
            look_into("tls-ca-cert-file", path, "CERTIFICATE-----")
        if folder and not Path(folder).is_dir():
            raise ConfigError(f"tls-ca-cert-dir {folder}: it is not a directory")
        if path or folder:
            try:
                context.load_verify_locations(path or None, folder or None)
            except ssl.SSLError as fault:
                raise ConfigError(f"tls-ca-cert-file {path}: {reason_of(fault)}") from None


def versions(text: str) -> list[ssl.TLSVersion]:
    """The versions that tls-protocols names, the lowest first."""
    words = {word.lower() for word in text.split()}
    names = [named for word, named in VERSIONS.items() if not words or word in words]
    return [ssl.TLSVersion[named] for named in names]


def choose_suites(context: ssl.SSLContext, suites: str) -> None:
    """Suites of TLS 1.3: refuse a list that this Python cannot apply."""
    if not suites or context.maximum_version < ssl.TLSVersion.TLSv1_3:
        return
    choose = getattr(context, "set_ciphersuites", None)
    if choose is not None:
        try:
            choose(suites)
        except ssl.SSLError:
            raise ConfigError(f"tls-ciphersuites {suites}: no such suite") from None
    elif not set(suites.split(":")) >= SUITES:
        raise ConfigError(
            f"tls-ciphersuites {suites}: this Python offers every suite of TLS 1.3 and can leave "
            "none out; remove the line, or write 'tls-protocols TLSv1.2'"
        )


def look_into(directive: str, path: str, mark: str) -> None:
    """Refuse a file that cannot be read, or holds something other than its directive says."""
    try:
        text = Path(path).read_bytes()
    except OSError as fault:
        raise ConfigError(f"{directive} {path}: {fault.strerror or fault}") from None
    if mark.encode() not in text:
        what = mark.removesuffix("-----").lower()
        raise ConfigError(f"{directive} {path}: there is no {what} in it (PEM)")


def is_encrypted(path: str) -> bool:
    """Whether a private key needs a password."""
    return b"ENCRYPTED" in Path(path).read_bytes()


def reason_of(fault: ssl.SSLError) -> str:
    """The reason of an OpenSSL error, in words."""
    return (fault.reason or str(fault)).replace("_", " ").lower()
