"""Whether an XADD removes at least as much as it adds, so that it may run when memory is full.

Redis refuses every XADD above ``maxmemory``, even with MAXLEN on a stream that is full, where it
would help.  Here such a call runs if its stream already has its maximum length, or begins before
MINID.  Entries differ in size, so the engine allows this only up to a little above the limit
(engine/admission.py).
"""

from __future__ import annotations

from forebay.commands.api.context import Context
from forebay.commands.api.session import Session
from forebay.commands.streams.xadd import AddOptions
from forebay.core.stream import Stream
from forebay.core.trim import ACKED
from forebay.errors import CommandError
from forebay.wire.argv import Argv


def makes_room(ctx: Context, session: Session, argv: Argv) -> bool:
    """Whether an old entry is removed for the new one; false for any other error."""
    ctx.use(session)
    stream = ctx.db.values.get(argv[1])
    options = AddOptions()
    try:
        options.read(ctx, argv, True)
    except CommandError:
        return False
    trimmer = options.trimmer
    # With ACKED, entries that a group has not acknowledged stay.
    if trimmer is None or trimmer.policy == ACKED or not isinstance(stream, Stream):
        return False
    if trimmer.by_length:
        return 0 < stream.length >= trimmer.maxlen
    first = (stream.first_ms, stream.first_seq)
    return stream.length > 0 and first < (trimmer.min_ms, trimmer.min_seq)
