# Types of rewrite_stream.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.core cimport ids
from forebay.core.cursor cimport Cursor
from forebay.core.finder cimport Finder
from forebay.core.group cimport Consumer, Group
from forebay.core.pel cimport Pending
from forebay.core.stream cimport Stream
from forebay.core.view cimport View
from forebay.mem cimport i64, u64
from forebay.persistence.aof.base_writer cimport BaseWriter
from forebay.wire.resp_writer cimport RespWriter

cdef Py_ssize_t IDS_PER_COMMAND, ADD_ARGS, CLAIM_ARGS, NACK_ARGS


@cython.final
cdef class Run:
    cdef array.array ids
    cdef u64* w
    cdef Py_ssize_t n
    cdef u64 time_ms
    cdef i64 deliveries

    cdef bint goes_on(self, u64 time_ms, i64 deliveries) noexcept
    cdef int add(self, u64 ms, u64 seq, u64 time_ms, i64 deliveries) except -1


@cython.final
cdef class StreamRewriter:
    cdef BaseWriter base
    cdef RespWriter out
    cdef bytes key
    cdef Stream stream
    cdef Cursor cursor
    cdef array.array ghosts           # ms, seq, ms, seq ...
    cdef Py_ssize_t ghost_words, next_ghost
    cdef Run run

    @cython.locals(cursor=Cursor)
    cpdef bint entries(self) except -1
    @cython.locals(fields=list, out=RespWriter, text=bytes)
    cdef int entry(self, Cursor cursor) except -1
    @cython.locals(at="Py_ssize_t", ghosts=array.array, name=bytes)
    cdef int ghosts_before(self, u64 ms, u64 seq) except -1

    @cython.locals(duration_s=bytes, maxsize=bytes)
    cpdef int idmp_settings(self) except -1
    @cython.locals(stream=Stream, last_ms=u64, last_seq=u64, top_ms=u64, top_seq=u64, added=i64, own_added=i64, group=Group, is_final=bint)
    cpdef int finish(self) except -1
    @cython.locals(stream=Stream, words=list)
    cdef int set_id(self, u64 ms, u64 seq, i64 added) except -1
    @cython.locals(stream=Stream, producers=object, pid=bytes, iids=dict, iid=bytes, ms=u64, seq=u64)
    cdef int messages(self) except -1
    @cython.locals(stream=Stream, words="Py_ssize_t", at="Py_ssize_t", end="Py_ssize_t", left="Py_ssize_t", i="Py_ssize_t", names=list)
    cdef int bury_ghosts(self) except -1
    @cython.locals(stream=Stream)
    cdef bint is_in_front(self, u64 ms, u64 seq) except -1

    @cython.locals(base=BaseWriter, pending=Pending, last=bytes, read=bytes, consumer=Consumer, count="Py_ssize_t")
    cdef int group(self, Group group) except -1
    @cython.locals(pending=Pending, run=Run, slot=i64, _="Py_ssize_t", time_ms=u64, deliveries=i64)
    cdef int walk(self, Group group, View view, Py_ssize_t count, bytes owner) except -1
    cdef int end_run(self, bytes group, bytes owner) except -1
    @cython.locals(run=Run, out=RespWriter, deliveries=bytes, i="Py_ssize_t")
    cdef int write_run(self, bytes group, bytes owner) except -1
    @cython.locals(out=RespWriter)
    cdef int open_claim(self, bytes group, bytes owner) except -1
    @cython.locals(out=RespWriter)
    cdef int open_nack(self, bytes group) except -1


cdef bint is_lost(Stream stream, u64 ms, u64 seq) noexcept
@cython.locals(finder=Finder, found=set, group=Group, view=View, slot=i64, ms=u64, seq=u64, iids=dict, ghosts=array.array, key=bytes)
cdef array.array find_ghosts(Stream stream)
