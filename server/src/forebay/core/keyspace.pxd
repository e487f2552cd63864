# Types of keyspace.py; see there.
cimport cython


cdef class Waiting:
    cdef readonly Database db
    cdef readonly bytes key
    cdef public bint is_signalled


cdef class Database:
    cdef public int index
    cdef public dict values, expires, place, waiting, watchers
    cdef public list ready, order, deadlines
    cdef public object tracker
    # Increases whenever a key drops a stream, list or set; caches compare it.
    cdef public unsigned long long version
    cpdef put(self, bytes key, object value)
    cpdef bint remove(self, bytes key) except -1
    cpdef expire_at(self, bytes key, long long when_ms)
    cpdef bint persist(self, bytes key) except -1
    cpdef touch(self, bytes key)
    @cython.locals(waiting=Waiting)
    cpdef signal(self, bytes key)


cdef class Keyspace:
    cdef public list ready, databases
    cdef public long long hits, misses
