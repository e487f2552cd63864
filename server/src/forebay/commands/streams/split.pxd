# Types of split.py; see there.
cimport cython

from forebay cimport mem
from forebay.commands.api.context cimport Context
from forebay.commands.streams.parsing cimport integer
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.node cimport Node
from forebay.core.rax cimport Rax
from forebay.core.stream cimport Stream
from forebay.mem cimport i64, u64
from forebay.wire.argv cimport Argv



@cython.final
cdef class Ruler:
    cdef Stream stream
    cdef tuple start, end
    cdef list nodes, counts
    cdef u64 total

    @cython.locals(ms=u64, seq=u64, end_ms=u64, end_seq=u64, rax=Rax, node=Node, after=Node, total=u64, count=u64, whole=bint)
    cdef u64 measure(self, u64 most) except? 0
    @cython.locals(i=Py_ssize_t, before=u64, count=u64, rank=u64, low=u64, high=u64)
    cdef list cut(self, u64 parts)
    @cython.locals(cursor=Cursor, ms=u64, seq=u64, end_ms=u64, end_seq=u64)
    cdef list ids_of(self, Node node)
