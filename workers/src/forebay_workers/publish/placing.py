"""A message as fields, and the stream for them: one partition of a partitioned stream."""

from __future__ import annotations

from typing import Any

from forebay_workers.codecs.codec import encode
from forebay_workers.errors import ConfigError
from forebay_workers.options import Layout
from forebay_workers.partitioned import KEY, Partitioned, key_in

Target = str | Partitioned


def placed(
    to: Target, message: Any, layout: Layout, key: str | None = None
) -> tuple[str, list[bytes]]:
    """The stream of a message, and its fields.

    The key is among the fields, so that every reader finds it: as an attribute of the message, or
    in its own field.
    """
    fields = encode(message, layout)
    if isinstance(to, str):
        if key is not None:
            raise ConfigError(f"key= chooses a partition, and {to!r} is not a Partitioned.")
        return to, fields
    if key is not None:
        fields += (KEY, key.encode())
    elif layout == "json":
        fields += (KEY, key_in(encode(message, "fields"), to.by, to.name))
    return to.stream_of(fields), fields
