# The compiled form of one function of files.py; the rest of it is plain Python.
from libc.errno cimport errno

from forebay.mem cimport u8

cdef extern from "<unistd.h>" nogil:
    Py_ssize_t system_write "write"(int fd, const void* p, size_t n)


cdef inline Py_ssize_t put(int fd, const u8* p, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t done = system_write(fd, p + at, n)
    return done if done >= 0 else -errno
