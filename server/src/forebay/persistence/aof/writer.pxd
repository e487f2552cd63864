# Types of writer.py; see there.
cimport cython
from cpython cimport array

from forebay.mem cimport u8, u32
from forebay.persistence cimport files
from forebay.persistence.aof.seals cimport Sealer
from forebay.wire.resp_writer cimport RespWriter


@cython.final
cdef class AofWriter:
    cdef readonly object disk, note
    cdef readonly str folder, name
    cdef readonly object manifest
    cdef Sealer sealer
    cdef readonly object file           # the current increment, None if there is none
    cdef int fd                         # its descriptor; -1: write through the object
    cdef readonly long long size, synced_size, marked_size
    cdef bytes mark                     # the line that says synced_size
    cdef readonly long long offset, synced_offset
    cdef readonly long long other_size, base_size
    cdef readonly bint is_pending, has_rotated, is_suspect, is_file_suspect
    cdef Py_ssize_t first_kept
    cdef readonly object ticket
    cdef list retired

    @cython.locals(n=Py_ssize_t, done=Py_ssize_t)
    cpdef Py_ssize_t append(self, RespWriter units, array.array ends) except -1
    cpdef write_slowly(self, Py_ssize_t done)
