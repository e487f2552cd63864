# Types of crc64.py.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport u8, u64

cdef Py_ssize_t LANES
cdef array.array TABLE

@cython.locals(w="const u64*", at="Py_ssize_t")
cpdef u64 update(u64 crc, const u8* data, Py_ssize_t start, Py_ssize_t end) noexcept
