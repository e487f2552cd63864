# Types of counters.py: the whole numbers, which clients count in a loop.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.mem cimport i64
from forebay.wire.argv cimport Argv


cpdef incr(Context ctx, Argv argv)
cpdef decr(Context ctx, Argv argv)
cpdef incrby(Context ctx, Argv argv)
@cython.locals(decrement=i64)
cpdef decrby(Context ctx, Argv argv)
@cython.locals(is_number="bint", value=i64)
cdef i64 whole(bytes text) except? -1
@cython.locals(key=bytes, before=bytes, value=i64)
cdef add(Context ctx, Argv argv, i64 change)
