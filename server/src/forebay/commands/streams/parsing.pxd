# Types of parsing.py; see there.
cimport cython

from forebay.commands.api.context cimport Context, Found
from forebay.core cimport ids
from forebay.core.group cimport Group
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv

cdef int NO_POLICY

@cython.locals(ok=bint, value=i64)
cpdef i64 integer(Argv argv, Py_ssize_t i, bytes error=*) except? -1

@cython.locals(ok=bint, ms=u64, seq=u64)
cpdef (u64, u64) strict_id(Argv argv, Py_ssize_t i) except *

@cython.locals(ok=bint, i=Py_ssize_t, _=u64)
cpdef int parse_ids(Argv argv, Py_ssize_t first, Py_ssize_t end) except -1

@cython.locals(policy=int, word_policy=int, ok=bint, first=Py_ssize_t, numids=i64)
cpdef (int, Py_ssize_t, i64) parse_delete(Argv argv, Py_ssize_t at) except *

cpdef int policy_word(Argv argv, Py_ssize_t i) except -2

cpdef Group group_of(Stream stream, Argv argv, Py_ssize_t i)

@cython.locals(found=Found, stream=Stream, group=Group)
cpdef tuple need_group(Context ctx, Argv argv)
