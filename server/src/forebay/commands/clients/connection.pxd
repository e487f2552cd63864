# Types of connection.py: only what clients call in a loop.
from forebay.commands.api.context cimport Context
from forebay.wire.argv cimport Argv

cdef int SUBSCRIBED_BIT


cpdef ping(Context ctx, Argv argv)
cpdef echo(Context ctx, Argv argv)
