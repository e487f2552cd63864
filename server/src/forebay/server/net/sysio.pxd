# The compiled face of sysio.py: the same names, as direct system calls.
from libc.errno cimport EAGAIN, EINTR, errno
from posix.time cimport CLOCK_MONOTONIC, CLOCK_REALTIME, clock_gettime, timespec

from forebay.mem cimport u8, u32, u64

cdef extern from "<sys/types.h>" nogil:
    ctypedef Py_ssize_t ssize_t

cdef extern from "<sys/epoll.h>" nogil:
    ctypedef union epoll_data_t:
        int fd
    struct epoll_event:
        u32 events
        epoll_data_t data
    int epoll_wait(int epoll_fd, epoll_event* events, int most, int timeout_ms)

cdef extern from "<sys/socket.h>" nogil:
    int MSG_NOSIGNAL, MSG_PEEK
    ssize_t system_recv "recv"(int fd, void* p, size_t n, int flags)
    ssize_t system_send "send"(int fd, const void* p, size_t n, int flags)


cdef enum:
    MOST_EVENTS = 256


cdef inline int wait(object epoll, int fd, u64* w, int most, int timeout_ms):
    cdef epoll_event ready[MOST_EVENTS]
    cdef int n, i
    with nogil:
        n = epoll_wait(fd, ready, most if most < MOST_EVENTS else MOST_EVENTS, timeout_ms)
    for i in range(n):
        w[2 * i] = ready[i].data.fd
        w[2 * i + 1] = ready[i].events
    return n


cdef inline Py_ssize_t recv(int fd, u8* p, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t got = system_recv(fd, p + at, n, 0)
    return got if got >= 0 else -errno


cdef inline Py_ssize_t peek(int fd, u8* p, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t got = system_recv(fd, p + at, n, MSG_PEEK)
    return got if got >= 0 else -errno


cdef inline Py_ssize_t send(int fd, const u8* p, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t sent = system_send(fd, p + at, n, MSG_NOSIGNAL)
    return sent if sent >= 0 else -errno


cdef inline bint again(Py_ssize_t result) noexcept nogil:
    return result == -EAGAIN or result == -EINTR


cdef inline long long wall_us() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_REALTIME, &t)
    return <long long>t.tv_sec * 1000000 + t.tv_nsec // 1000


cdef inline long long monotonic_us() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return <long long>t.tv_sec * 1000000 + t.tv_nsec // 1000
