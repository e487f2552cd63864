# Types of ticker.py; see there.


cdef class Ticker:
    cdef public long long now_us
    cpdef long long us(self) except? -1
