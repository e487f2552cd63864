# Types of timers.py; see there.
from forebay.engine.ticker cimport Ticker
from forebay.server.net cimport sysio


cdef class Clock(Ticker):
    cpdef long long us(self) except? -1
    cpdef long long wall_us(self, long long now_ms) except? -1
    cpdef long long now_ms(self) except? -1
    cpdef long long monotonic_ms(self) except? -1
