# Types of waits.py; see there.
from forebay.commands.api.session cimport Session
from forebay.wire.argv cimport Argv


cdef class Waits:
    cpdef block(
        self, Session session, int kind, list keys, long long timeout_ms, Argv argv,
        bint on_missing_key=*, object wake_at_ms=*, object on_timeout=*,
    )
    cpdef bint block_as_before(
        self, Session session, int kind, long long timeout_ms, Argv argv
    ) except -1
