# Types of crc32.py; see there.
cimport cython
from cpython cimport array

from forebay cimport mem
from forebay.mem cimport u8, u32, u64

cdef u32 POLYNOMIAL
cdef array.array TABLE


@cython.locals(table=array.array, byte=u32, crc=u32, _=int, at=Py_ssize_t)
cdef array.array make_table()
@cython.locals(t="u32*", a=u64, b=u64)
cdef u32 update(u32 crc, const u8* p, Py_ssize_t at, Py_ssize_t end) noexcept
cpdef u32 checksum(bytes data, u32 seed=*)
