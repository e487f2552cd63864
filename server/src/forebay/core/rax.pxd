# Types of rax.py.  A tree of objects: one object per key and per fork, so it is
# for things that are few (a stream's nodes, groups, consumers), never entries.
cimport cython

from forebay cimport mem
from forebay.mem cimport u8, u64

cdef Py_ssize_t ID_SIZE
cdef bytearray id_buffer
cdef u8* id_pointer


@cython.final
cdef class Branch:
    cdef public bytes label, key, firsts
    cdef public object value
    cdef public list children


@cython.final
cdef class Rax:
    cdef public Branch root
    cdef public Py_ssize_t count, node_count

    cpdef object find(self, bytes key)
    @cython.locals(branch=Branch, end="Py_ssize_t", i="Py_ssize_t", size="Py_ssize_t", label="const u8*")
    cdef object find_at(self, const u8* p, Py_ssize_t at, Py_ssize_t n)
    @cython.locals(branch=Branch, child=Branch, n="Py_ssize_t", at="Py_ssize_t", i="Py_ssize_t",
                   same="Py_ssize_t", p="const u8*", new="bint")
    cpdef bint insert(self, bytes key, object value) except -1
    @cython.locals(branch=Branch, parent=Branch, grandparent=Branch, n="Py_ssize_t", at="Py_ssize_t",
                   i="Py_ssize_t", same="Py_ssize_t", p="const u8*")
    cpdef bint remove(self, bytes key) except -1

    cdef int attach(self, Branch branch, Py_ssize_t i, Branch leaf) except -1
    @cython.locals(child=Branch, middle=Branch)
    cdef Branch split(self, Branch parent, Py_ssize_t i, Py_ssize_t at)
    cdef int tidy(self, Branch grandparent, Branch parent, Branch branch) except -1
    @cython.locals(label=bytes, i="Py_ssize_t")
    cdef int detach(self, Branch parent, Branch leaf) except -1
    @cython.locals(label=bytes, child=Branch)
    cdef int join(self, Branch parent, Branch branch) except -1

    @cython.locals(branch=Branch, best=Branch, whole="bint", at="Py_ssize_t", i="Py_ssize_t",
                   same="Py_ssize_t", label="const u8*")
    cdef Branch floor_at(self, const u8* p, Py_ssize_t n, bint inclusive)
    @cython.locals(branch=Branch, best=Branch, at="Py_ssize_t", i="Py_ssize_t",
                   same="Py_ssize_t", label="const u8*")
    cdef Branch ceil_at(self, const u8* p, Py_ssize_t n, bint inclusive)
    cpdef tuple first(self)
    cpdef tuple last(self)
    cpdef tuple floor(self, bytes key)
    cpdef tuple lower(self, bytes key)
    cpdef tuple ceil(self, bytes key)
    cpdef tuple higher(self, bytes key)
    cpdef object floor_id(self, u64 ms, u64 seq)
    cpdef object prev_id(self, u64 ms, u64 seq)
    cpdef object next_id(self, u64 ms, u64 seq)
    cpdef object first_value(self)
    cpdef object last_value(self)
    @cython.locals(found=list, todo=list, branch=Branch)
    cpdef list items(self)
    @cython.locals(found=list, todo=list, branch=Branch)
    cpdef list values(self)


@cython.locals(i="Py_ssize_t")
cdef int push_children(list todo, Branch branch) except -1
@cython.locals(firsts="const u8*", low="Py_ssize_t", high="Py_ssize_t", middle="Py_ssize_t")
cdef Py_ssize_t place(Branch branch, u8 byte) noexcept
@cython.locals(n="Py_ssize_t", i="Py_ssize_t", q="const u8*")
cdef Py_ssize_t common(bytes label, const u8* p, Py_ssize_t at, Py_ssize_t end) noexcept
cdef Py_ssize_t own_node(bytes label) noexcept
cdef Branch leftmost(Branch branch)
cdef Branch rightmost(Branch branch)
cdef tuple pair(Branch branch)
cdef object value_of(Branch branch)
