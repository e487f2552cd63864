# Types of links.py; see there.
cimport cython

from forebay.commands.api.context cimport Context
from forebay.commands.api.session cimport Session
from forebay.commands.streams.parsing cimport integer
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv

cdef int IS_LINK
cdef i64 NOT_SAID

cpdef replconf(Context ctx, Argv argv)
@cython.locals(synced=i64)
cdef read_ack(Context ctx, Argv argv)
