"""DUMP and RESTORE in the format of the disk: ``services.payloads`` for the commands.

Commands do not depend on files; they ask for the bytes of a value, or for the
value of some bytes.
"""

from __future__ import annotations

from forebay.commands.api.settings import Settings
from forebay.core.keyspace import Value
from forebay.errors import CommandError, CorruptDataError
from forebay.persistence.rdb import payload
from forebay.persistence.rdb.lzf import Compressor
from forebay.persistence.rdb.payload import BadFooterError
from forebay.persistence.rdb.stream_extra import IdmpState

BAD_FOOTER = b"ERR DUMP payload version or checksum are wrong"
BAD_BODY = b"ERR Bad data format"


class Payloads:
    """Values as bytes and back, by the server's settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.compressor = Compressor()
        #: Tests damage payloads and need to get past the checksum.
        self.skip_checks = False

    def dump(self, value: Value) -> bytes:
        """The payload of a value."""
        settings = self.settings
        return payload.dump(
            value,
            settings.rdb_format,
            settings.rdbcompression,
            self.defaults(),
            self.compressor,
        )

    def restore(self, data: bytes) -> Value:
        """The value of a payload; the error that RESTORE answers."""
        try:
            return payload.restore(data, self.skip_checks, self.defaults())
        except BadFooterError:
            raise CommandError(BAD_FOOTER) from None
        except CorruptDataError:
            raise CommandError(BAD_BODY) from None

    def defaults(self) -> IdmpState:
        """The idempotency settings of a new stream."""
        settings = self.settings
        return IdmpState(settings.stream_idmp_duration_s, settings.stream_idmp_maxsize)
