# Types of admission.py; see there.
from forebay.commands.api.session cimport Session
from forebay.commands.api.spec cimport Command
from forebay.wire.argv cimport Argv

cdef int CLOSING, FEW_REPLICAS, IN_MULTI, IS_LOADING, MEMORY_LIMIT, MISCONF, PAUSED
cdef int READONLY_REPLICA, RESTRICTED, STALE_DATA, SUBSCRIBED, UNAUTHENTICATED, ONLY_WATCHING
cdef int DENYOOM, LOADING, MAY_REPLICATE, NO_AUTH, NO_MULTI, READONLY, STALE, WRITE

cpdef bint admit(object engine, Session session, Command row, Argv argv) except -1
cpdef bint is_queued(Command row) except -1
cpdef int flags_of(Session session, Command row) except -1
cpdef bytes why_not(object engine, Session session, Command row, Argv argv, int gate)
cdef bytes why_not_theirs(object engine, Session session, Command row, Argv argv, int gate)
cdef bytes why_not_written(object engine, Session session, Command row, int gate)
