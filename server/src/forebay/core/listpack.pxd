cimport cython

from forebay cimport mem
from forebay.mem cimport i64, u8, u64

cdef Py_ssize_t HEADER, HEAD_MAX, BACK_MAX, OVERHEAD_MAX
cdef u64 BIT63
cdef i64 BIT24, BIT32

@cython.locals(bits=u64, size=int)
cpdef Py_ssize_t put_int(u8* p, Py_ssize_t at, i64 value) noexcept

cpdef int int_size(i64 value) noexcept

@cython.locals(count=int, step=int)
cpdef Py_ssize_t put_backlen(u8* p, Py_ssize_t at, Py_ssize_t size) noexcept

cpdef int backlen_size(Py_ssize_t size) noexcept

@cython.locals(ok=bint, value=i64)
cpdef Py_ssize_t put_string(u8* p, Py_ssize_t at, const u8* src, Py_ssize_t src_at, Py_ssize_t n) noexcept

@cython.locals(head=int)
cpdef bint is_int(const u8* p, Py_ssize_t at) noexcept

@cython.locals(head=int, value=i64, size=int)
cpdef (i64, Py_ssize_t) read_int(const u8* p, Py_ssize_t at) noexcept

@cython.locals(head=int)
cpdef (Py_ssize_t, Py_ssize_t) read_string(const u8* p, Py_ssize_t at) noexcept

cpdef i64 sign_extend(u64 bits, int size) noexcept

@cython.locals(head=int, n=Py_ssize_t, start=Py_ssize_t, _=i64)
cpdef Py_ssize_t skip(const u8* p, Py_ssize_t at) noexcept

@cython.locals(size=Py_ssize_t, part=Py_ssize_t, shift=int)
cpdef Py_ssize_t back(const u8* p, Py_ssize_t at) noexcept

@cython.locals(value=i64, start=Py_ssize_t, size=Py_ssize_t, ok=bint, given=i64, _=Py_ssize_t)
cpdef bint same_string(const u8* p, Py_ssize_t at, const u8* src, Py_ssize_t src_at, Py_ssize_t n) noexcept

@cython.locals(value=i64, start=Py_ssize_t, size=Py_ssize_t, _=Py_ssize_t)
cpdef bytes element(const u8* p, Py_ssize_t at)
