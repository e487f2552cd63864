# The compiled face of mem.py: the same names, as inlined C.
from cpython cimport array
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove

ctypedef unsigned char u8
ctypedef uint32_t u32
ctypedef uint64_t u64
ctypedef int64_t i64

cdef extern from "<stdint.h>" nogil:
    const u64 U64_MAX "UINT64_MAX"
    const i64 I64_MAX "INT64_MAX"
    const i64 I64_MIN "INT64_MIN"
    const u64 U32_MAX "UINT32_MAX"
    const i64 I32_MAX "INT32_MAX"
    const i64 I32_MIN "INT32_MIN"

cdef enum:
    SLACK = 16
    # Larger blocks always get a mapping of their own from glibc, so that advice about it ends with
    # it.  The mapping consists of whole huge pages; the buffer is smaller by the bytes that glibc
    # writes before it.  Otherwise the kernel would have to split the pages to move them.
    HUGE_BYTES = 32 << 20
    HUGE_PAGE = 2 << 20
    BESIDE_BYTES = 64

cdef extern from "<sys/mman.h>" nogil:
    int MADV_HUGEPAGE
    int madvise(void* start, size_t n, int advice)


cdef extern from *:
    u64 __builtin_bswap64(u64) noexcept nogil
    int __builtin_clzll(unsigned long long) noexcept nogil
    int __builtin_ctzll(unsigned long long) noexcept nogil


cdef inline void copy(u8* dst, Py_ssize_t dst_at, const u8* src, Py_ssize_t src_at, Py_ssize_t n) noexcept nogil:
    memcpy(dst + dst_at, src + src_at, n)


cdef inline void copy_short(u8* dst, Py_ssize_t dst_at, const u8* src, Py_ssize_t src_at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t done = 16
    memcpy(dst + dst_at, src + src_at, 16)
    while done < n:
        memcpy(dst + dst_at + done, src + src_at + done, 16)
        done += 16


cdef inline void move(u8* buf, Py_ssize_t dst_at, Py_ssize_t src_at, Py_ssize_t n) noexcept nogil:
    memmove(buf + dst_at, buf + src_at, n)


cdef inline bint equal(const u8* a, Py_ssize_t a_at, const u8* b, Py_ssize_t b_at, Py_ssize_t n) noexcept nogil:
    return memcmp(a + a_at, b + b_at, n) == 0


cdef inline bint same_word(const u8* p, Py_ssize_t at, Py_ssize_t n, const u8* word, Py_ssize_t word_len) noexcept nogil:
    cdef Py_ssize_t i
    cdef u8 c
    if n != word_len:
        return False
    for i in range(n):
        c = p[at + i]
        if c >= 97 and c <= 122:
            c = c - 32
        if c != word[i]:
            return False
    return True


cdef inline Py_ssize_t find(const u8* p, Py_ssize_t at, Py_ssize_t end, int byte) noexcept nogil:
    cdef const u8* hit
    if at >= end:
        return -1
    hit = <const u8*>memchr(p + at, byte, end - at)
    return -1 if hit == NULL else hit - p


cdef inline Py_ssize_t common(const u8* p, Py_ssize_t a_at, Py_ssize_t b_at, Py_ssize_t limit) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef u64 a, b
    while i + 8 <= limit:
        memcpy(&a, p + a_at + i, 8)
        memcpy(&b, p + b_at + i, 8)
        if a != b:
            return i + (__builtin_ctzll(a ^ b) >> 3)
        i += 8
    while i < limit and p[a_at + i] == p[b_at + i]:
        i += 1
    return i


cdef inline void repeat(u8* p, Py_ssize_t at, Py_ssize_t back, Py_ssize_t n) noexcept nogil:
    # Blocks no longer than ``back`` never overlap what they are copied from.
    cdef Py_ssize_t done = 0
    if back >= 16:
        while done < n:
            memcpy(p + at + done, p + at + done - back, 16)
            done += 16
    elif back >= 8:
        while done < n:
            memcpy(p + at + done, p + at + done - back, 8)
            done += 8
    else:
        while done < n:
            p[at + done] = p[at + done - back]
            done += 1


cdef inline bytes to_bytes(const u8* p, Py_ssize_t at, Py_ssize_t n):
    return PyBytes_FromStringAndSize(<const char*>p + at, n)


cdef inline bytearray widened(const u8* p, Py_ssize_t at, Py_ssize_t n, Py_ssize_t room):
    cdef bytearray wider = bytearray(room)
    memcpy(PyByteArray_AS_STRING(wider), p + at, n)
    return wider


cdef inline bytearray grown(const u8* p, Py_ssize_t n, Py_ssize_t cap, Py_ssize_t wanted):
    return widened(p, 0, n, wanted if wanted > 2 * cap else 2 * cap)


cdef inline int lengthen(bytearray buf, Py_ssize_t room) except -1:
    cdef u64 start
    if room < HUGE_BYTES:
        PyByteArray_Resize(buf, room)
        return 0
    room = (room + BESIDE_BYTES + HUGE_PAGE - 1) // HUGE_PAGE * HUGE_PAGE
    PyByteArray_Resize(buf, room - BESIDE_BYTES)
    start = <u64>PyByteArray_AS_STRING(buf) & ~<u64>4095
    madvise(<void*>start, room, MADV_HUGEPAGE)
    return 0


cdef inline int extend(bytearray buf, const u8* src, Py_ssize_t at, Py_ssize_t n) except -1:
    cdef Py_ssize_t size = len(buf)
    PyByteArray_Resize(buf, size + n)
    memcpy(PyByteArray_AS_STRING(buf) + size, src + at, n)
    return 0


cdef inline u64* words(array.array store) noexcept:
    return <u64*>store.data.as_voidptr


cdef inline int push(array.array store, u64 word) except -1:
    cdef Py_ssize_t n = len(store)
    array.resize_smart(store, n + 1)
    (<u64*>store.data.as_voidptr)[n] = word
    return 0


cdef inline u32* cells(array.array store) noexcept:
    return <u32*>store.data.as_voidptr


cdef inline bint before(u64 a_ms, u64 a_seq, u64 b_ms, u64 b_seq) noexcept nogil:
    return a_ms < b_ms or (a_ms == b_ms and a_seq < b_seq)


cdef inline u64** word_arrays(list arrays, array.array addresses) except NULL:
    cdef Py_ssize_t i = min(len(arrays), len(addresses)) - 1
    array.resize_smart(addresses, len(arrays))
    for i in range(max(i, 0), len(arrays)):
        (<u64*>addresses.data.as_voidptr)[i] = <u64>(<array.array?>arrays[i]).data.as_voidptr
    return <u64**>addresses.data.as_voidptr


cdef inline void move_cells(u32* store, Py_ssize_t dst_at, Py_ssize_t src_at, Py_ssize_t n) noexcept nogil:
    memmove(store + dst_at, store + src_at, n * 4)


cdef inline void copy_cells(u32* dst, Py_ssize_t dst_at, const u32* src, Py_ssize_t src_at, Py_ssize_t n) noexcept nogil:
    memcpy(dst + dst_at, src + src_at, n * 4)


cdef inline u64 wrap(u64 value) noexcept nogil:
    return value


cdef inline i64 signed(u64 value) noexcept nogil:
    return <i64>value


cdef inline u64 get_le(const u8* p, Py_ssize_t at, int n) noexcept nogil:
    cdef u64 value = 0
    memcpy(&value, p + at, n)
    return value


cdef inline void put_le(u8* p, Py_ssize_t at, int n, u64 value) noexcept nogil:
    memcpy(p + at, &value, n)


cdef inline void put_number(u8* p, Py_ssize_t i, int size, i64 value) noexcept nogil:
    if size == 1:
        p[i] = <u8>value
    elif size == 2:
        put_le(p, 2 * i, 2, <u64>value)
    elif size == 4:
        put_le(p, 4 * i, 4, <u64>value)
    else:
        put_le(p, 8 * i, 8, <u64>value)


cdef inline i64 get_number(const u8* p, Py_ssize_t i, int size) noexcept nogil:
    cdef int unused_bits = 64 - 8 * size
    return <i64>(get_le(p, i * size, size) << unused_bits) >> unused_bits


cdef inline u64 get_be64(const u8* p, Py_ssize_t at) noexcept nogil:
    cdef u64 value
    memcpy(&value, p + at, 8)
    return __builtin_bswap64(value)


cdef inline void put_be64(u8* p, Py_ssize_t at, u64 value) noexcept nogil:
    value = __builtin_bswap64(value)
    memcpy(p + at, &value, 8)


cdef inline int uint_len(u64 value) noexcept nogil:
    cdef int n = 1
    while value >= 10000:
        value //= 10000
        n += 4
    if value >= 1000:
        return n + 3
    if value >= 100:
        return n + 2
    if value >= 10:
        return n + 1
    return n


cdef inline u64 eight_digits(u64 value) noexcept nogil:
    # Value below 10**8 -> its digits, one a byte, the first in the lowest.  The number is
    # cut into halves, quarters and eighths, each in its own lane of the word; a division
    # of all lanes by 100 or by 10 is one multiplication and a shift.
    cdef u64 high = value // 10000
    cdef u64 lanes = high | ((value - high * 10000) << 32)
    high = ((lanes * 10486) >> 20) & <u64>0x7F0000007F
    lanes = high | ((lanes - high * 100) << 16)
    high = ((lanes * 103) >> 10) & <u64>0x000F000F000F000F
    return high | ((lanes - high * 10) << 8)


cdef inline void put_all_eight(u8* p, Py_ssize_t at, u64 value) noexcept nogil:
    cdef u64 text = eight_digits(value) | <u64>0x3030303030303030
    memcpy(p + at, &text, 8)


cdef inline Py_ssize_t put_short(u8* p, Py_ssize_t at, u64 value) noexcept nogil:
    # Value below 10**8 and not 0, without its leading zeros: they are the low bytes.
    cdef u64 text = eight_digits(value)
    cdef int skip = __builtin_ctzll(text) & 56
    cdef int n = 8 - (skip >> 3)
    text = (text | <u64>0x3030303030303030) >> skip
    if n & 8:
        memcpy(p + at, &text, 8)
        return at + 8
    if n & 4:
        memcpy(p + at, &text, 4)
        at += 4
        text >>= 32
    if n & 2:
        memcpy(p + at, &text, 2)
        at += 2
        text >>= 16
    if n & 1:
        p[at] = <u8>text
        at += 1
    return at


cdef inline Py_ssize_t put_tiny(u8* p, Py_ssize_t at, u64 value) noexcept nogil:
    # Value below 10**4: digit by digit is quicker than all lanes at once.
    cdef Py_ssize_t end = at + uint_len(value)
    cdef Py_ssize_t o = end - 1
    cdef u64 high
    while value >= 10:
        high = value // 10
        p[o] = <u8>(48 + value - high * 10)
        o -= 1
        value = high
    p[o] = <u8>(48 + value)
    return end


cdef inline Py_ssize_t put_uint(u8* p, Py_ssize_t at, u64 value) noexcept nogil:
    cdef u64 high
    if value < 10:
        p[at] = <u8>(48 + value)
        return at + 1
    if value < 10000:
        return put_tiny(p, at, value)
    if value < 100000000:
        return put_short(p, at, value)
    high = value // 100000000
    if high < 100000000:
        at = put_short(p, at, high)
    else:
        at = put_tiny(p, at, high // 100000000)
        put_all_eight(p, at, high % 100000000)
        at += 8
    put_all_eight(p, at, value - high * 100000000)
    return at + 8


cdef inline Py_ssize_t digits(u64 value) noexcept nogil:
    cdef Py_ssize_t n = 1
    while value >= 10:
        value = value // 10
        n += 1
    return n


cdef inline void put_double(u8* p, Py_ssize_t at, double value) noexcept nogil:
    memcpy(p + at, &value, 8)


cdef inline i64 eight_values(u64 digits) noexcept nogil:
    # The opposite of eight_digits(), for digits with their values: pairs, fours, all eight.
    digits = (digits * 10 + (digits >> 8)) & <u64>0x00FF00FF00FF00FF
    digits = (digits * 100 + (digits >> 16)) & <u64>0x0000FFFF0000FFFF
    return <i64>((digits * 10000 + (digits >> 32)) & <u64>0xFFFFFFFF)


cdef inline (bint, double) parse_short_decimal(u64 text, int n, bint minus) noexcept nogil:
    # At most eight characters, the first in the lowest byte.  The point is the byte that is zero
    # after an exclusive or with points; the bytes after it move one byte down.  Leading zeros are
    # shifted in from below, so that eight digits are left, or something else that a carry shows.
    cdef u64 other = text ^ <u64>0x2E2E2E2E2E2E2E2E
    cdef u64 zeros = (other - <u64>0x0101010101010101) & ~other & <u64>0x8080808080808080
    cdef int shift = __builtin_ctzll(zeros) & 56 if zeros else 64
    cdef int fraction = 0
    cdef u64 low
    cdef double scale = 1.0
    if shift < 8 * n:
        fraction = n - 1 - (shift >> 3)
        if shift == 0 or fraction == 0:
            return False, 0.0
        low = (<u64>1 << shift) - 1
        text = (text & low) | ((text >> 8) & ~low)
        n -= 1
    if n == 0:
        return False, 0.0
    text = (text - <u64>0x3030303030303030) << (64 - 8 * n)
    if (text | (text + <u64>0x0606060606060606)) & <u64>0xF0F0F0F0F0F0F0F0:
        return False, 0.0
    while fraction > 0:
        scale *= 10.0
        fraction -= 1
    scale = <double>eight_values(text) / scale
    return True, -scale if minus else scale


cdef inline (bint, double) parse_decimal(const u8* p, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef bint minus = n > 0 and p[at] == 45
    cdef Py_ssize_t end = at + n, digits = 0
    cdef bint point = False
    cdef i64 v = 0
    cdef double scale = 1.0
    cdef u64 text
    if minus:
        at += 1
        n -= 1
    if n <= 8:
        memcpy(&text, p + at, 8)
        return parse_short_decimal(text, n, minus)
    if n > 16 or p[at] == 46 or p[end - 1] == 46:
        return False, 0.0
    while at < end:
        if <u8>(p[at] - 48) < 10:
            v = v * 10 + (p[at] - 48)
            digits += 1
            if point:
                scale *= 10.0
        elif p[at] == 46 and not point:
            point = True
        else:
            return False, 0.0
        at += 1
    if digits > 15:
        return False, 0.0
    return True, (-<double>v if minus else <double>v) / scale


cdef inline (bint, i64) parse_int(const u8* p, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef u64 v = 0
    cdef bint minus = False
    cdef u8 c
    if n == 1 and p[at] == 48:
        return True, 0
    if n > 0 and p[at] == 45:
        minus = True
        i = 1
    if i >= n or n - i > 19 or p[at + i] < 49 or p[at + i] > 57:
        return False, 0
    while i < n:
        c = p[at + i]
        if c < 48 or c > 57:
            return False, 0
        v = v * 10 + (c - 48)
        i += 1
    if minus:
        if v > <u64>1 << 63:
            return False, 0
        return True, <i64>(0 - v)
    if v > (<u64>1 << 63) - 1:
        return False, 0
    return True, <i64>v


cdef inline (bint, u64) parse_uint(const u8* p, Py_ssize_t at, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef u64 v = 0, d
    cdef u8 c
    if n <= 0:
        return False, 0
    for i in range(n):
        c = p[at + i]
        if c < 48 or c > 57:
            return False, 0
        d = c - 48
        if v > 1844674407370955161ULL or (v == 1844674407370955161ULL and d > 5):
            return False, 0
        v = v * 10 + d
    return True, v


cdef inline int short_line(const u8* p, Py_ssize_t at, Py_ssize_t end) noexcept nogil:
    if end - at < 4:
        return -1
    if p[at + 1] == 13:
        return p[at] - 48 if 48 <= p[at] <= 57 else -1
    if p[at + 2] == 13 and 49 <= p[at] <= 57 and 48 <= p[at + 1] <= 57:
        return 10 * (p[at] - 48) + p[at + 1] - 48
    return -1
