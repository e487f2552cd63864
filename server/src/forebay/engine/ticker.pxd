# Types of ticker.py; see there.


cdef class Ticker:
    cdef public long long now_us
    cpdef long long us(self) except? -1
    cpdef long long wall_us(self, long long now_ms) except? -1
