cdef class Command:
    cdef public bytes name, full_name
    cdef public object handler, keys, categories, since, summary, group, syntax
    cdef public int arity, flags
    cdef public dict subcommands
    cdef public long long calls, usec, rejected_calls, failed_calls
