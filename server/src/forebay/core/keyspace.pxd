cdef class Database:
    cdef public int index
    cdef public dict ready, values, expires, place, waiting, watchers
    cdef public list order, deadlines
    # Goes up whenever a key lets go of a stream, list or set; caches compare it.
    cdef public unsigned long long version
    cpdef put(self, bytes key, object value)
    cpdef bint remove(self, bytes key) except -1
    cpdef expire_at(self, bytes key, long long when_ms)
    cpdef bint persist(self, bytes key) except -1
    cpdef touch(self, bytes key)
    cpdef signal(self, bytes key)


cdef class Keyspace:
    cdef public dict ready
    cdef public list databases
    cdef public long long hits, misses
