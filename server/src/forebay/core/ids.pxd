cimport cython

from forebay cimport mem
from forebay.mem cimport i64, u8, u64

cdef Py_ssize_t MAX_TEXT
cdef bytes BAD_START, BAD_END, _BLANKS

cpdef bytes text(u64 ms, u64 seq)
cpdef bint before(u64 a_ms, u64 a_seq, u64 b_ms, u64 b_seq) noexcept
cpdef (bint, u64, u64) successor(u64 ms, u64 seq) noexcept
cpdef (bint, u64, u64) predecessor(u64 ms, u64 seq) noexcept

@cython.locals(dash=Py_ssize_t, ok=bint, ms=u64, seq=u64)
cpdef (bint, u64, u64) parse(const u8* p, Py_ssize_t at, Py_ssize_t n, u64 default_seq) except *

cdef (bint, u64, u64) _parse_odd(bytes raw, u64 default_seq) except *

cpdef (bint, u64, u64) parse_bound(const u8* p, Py_ssize_t at, Py_ssize_t n, u64 default_seq) except *

@cython.locals(ok=bint, ms=u64, seq=u64)
cpdef (u64, u64) interval_start(const u8* p, Py_ssize_t at, Py_ssize_t n) except *

@cython.locals(ok=bint, ms=u64, seq=u64)
cpdef (u64, u64) interval_end(const u8* p, Py_ssize_t at, Py_ssize_t n) except *
