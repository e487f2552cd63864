# Types of effects.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport u8, u64
from forebay.wire cimport resp_writer
from forebay.wire.argv cimport Argv
from forebay.wire.resp_writer cimport RespWriter

cdef int NO_DATABASE
cdef Py_ssize_t BULK_ROOM


@cython.final
cdef class Effects:
    cdef public bint enabled, is_open
    cdef public Py_ssize_t count
    cdef public long long total, changes
    cdef public int db_index, selected
    cdef public RespWriter out
    cdef public Py_ssize_t mark
    cdef public array.array ends
    cdef public long long base
    cdef public Py_ssize_t handed, noted
    cpdef int begin(self) except -1
    cpdef bint end(self) except -1
    cdef long long place(self) noexcept
    cpdef record_call(self, Argv argv, long long changes=*)
    @cython.locals(word=bytes)
    cpdef record_command(self, object words, long long changes=*)
    cpdef record_call_with_id(self, Argv argv, Py_ssize_t at, u64 ms, u64 seq, long long changes)
    @cython.locals(start=Py_ssize_t, w="u64*", n=Py_ssize_t)
    cdef int copy(self, Argv argv, Py_ssize_t first, Py_ssize_t end) except -1
    @cython.locals(out=RespWriter, src="const u8*", w="u64*", room=Py_ssize_t, i=Py_ssize_t, p="u8*", o=Py_ssize_t)
    cdef int frame(self, Argv argv, Py_ssize_t first, Py_ssize_t end) except -1
    cpdef int begin_command(self, Py_ssize_t n) except -1
    cpdef int select(self) except -1
    @cython.locals(units=bytes)
    cpdef bytes take(self)
    @cython.locals(out=RespWriter, size=Py_ssize_t, first=Py_ssize_t, count=Py_ssize_t)
    cpdef annotate(self, bytes line)
    cpdef int clear(self) except -1
    cpdef forget_database(self)
