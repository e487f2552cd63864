"""The well-known scripts: short Lua texts that lock libraries send, each a Python function here.

There is no Lua interpreter.  A script is known by the SHA1 of its exact text; clients name it by
this hash (EVALSHA), and the text itself is not kept.  Nearly all scripts are for a lock: a string
at a key, whose value names the holder.

    take it      SET if the key is free                      acquire_*
    let it go    DEL if the value is still ours              release_*
    keep it      PEXPIRE or SET if the value is still ours   extend_*
    look         how long it stays ours                      left_*

To add a script: a row in ``SCRIPTS`` with the SHA1 of its text and the lines of its calls, and a
function if none of these does the same; ``tests/commands/scripts/test_known.py`` compares it with
a real server.
"""

from __future__ import annotations

from forebay.commands.scripts.run import Run, Script, Status, Value, to_number
from forebay.errors import CommandError

OK = Status(b"OK")
NOT_OURS = b"ERR ERROR"
NIL_COMPARED = b"compare number with nil"
STRING_ADDED = b"perform arithmetic on field '?' (a string value)"


def holds(run: Run, key: bytes | None) -> bool:
    """Whether the value of the key is ARGV[1]; a missing key equals nothing."""
    value = run.call(0, b"GET", key)
    return value is not None and value == run.arg(1)


# Letting go


def release(run: Run) -> Value:
    """DEL a lock that is ours."""
    return run.call(1, b"DEL", run.key(1)) if holds(run, run.key(1)) else 0


def release_each(run: Run) -> Value:
    """DEL the locks that are ours, of many; how many, even if the DEL itself failed."""
    ours = 0
    for key in run.keys:
        if holds(run, key):
            run.try_call(1, b"DEL", key)
            ours += 1
    return ours


def release_or_fail(run: Run) -> Value:
    """DEL a lock that is ours; a free lock is fine, another client's is an error."""
    value = run.call(0, b"GET", run.key(1))
    if value is None:
        return OK
    if value != run.arg(1):
        raise CommandError(NOT_OURS)
    return run.call(1, b"DEL", run.key(1))


def release_and_signal(run: Run) -> Value:
    """DEL a lock that is ours and wake clients that wait at its list; 1: it is not ours."""
    if not holds(run, run.key(1)):
        return 1
    _signal(run, 1, run.key(2), b"PEXPIRE", run.arg(2))
    run.call(4, b"DEL", run.key(1))
    return 0


def release_and_tell(run: Run) -> Value:
    """DEL a lock that is ours and leave exactly one element in the list of its events."""
    if not holds(run, run.key(1)):
        return 0
    run.call(1, b"LPUSH", run.key(2), 1)
    run.call(2, b"LTRIM", run.key(2), 0, 0)
    return run.call(3, b"DEL", run.key(1))


def release_whoever(run: Run) -> Value:
    """DEL a lock, whichever client holds it, and wake clients that wait for it."""
    _signal(run, 0, run.key(2), b"PEXPIRE", run.arg(2))
    return run.call(3, b"DEL", run.key(1))


def release_all(run: Run) -> Value:
    """The same for all locks."""
    locks = run.call(0, b"KEYS", b"lock:*")
    assert isinstance(locks, list)
    for lock in locks:
        assert isinstance(lock, bytes)
        _signal(run, 1, b"lock-signal:" + lock[5:], b"EXPIRE", 1)
        run.call(4, b"DEL", lock)
    return len(locks)


def _signal(run: Run, place: int, key: bytes | None, expire: bytes, time: Value) -> None:
    """Put one element into the list at which clients wait; it expires soon."""
    run.call(place, b"DEL", key)
    run.call(place + 1, b"LPUSH", key, 1)
    run.call(place + 2, expire, key, time)


# Taking


def acquire(run: Run) -> Value:
    """SET a lock that is free."""
    return run.call(0, b"SET", run.key(1), run.arg(1), b"NX", b"PX", run.arg(2))


def acquire_each(run: Run) -> Value:
    """SET many locks if all are free; how many."""
    if any(run.call(0, b"EXISTS", key) == 1 for key in run.keys):
        return 0
    return _set_each(run)


def _set_each(run: Run) -> int:
    for key in run.keys:
        run.call(1, b"SET", key, run.arg(1), b"PX", run.arg(2))
    return len(run.keys)


def acquire_or_fail(run: Run) -> Value:
    """SET a lock that is free or ours; another client's is an error."""
    value = run.call(0, b"GET", run.key(1))
    if value is not None and value != run.arg(1):
        raise CommandError(NOT_OURS)
    return run.call(1, b"SET", run.key(1), run.arg(1), b"PX", run.arg(2))


def acquire_or_keep(run: Run) -> Value:
    """SET a lock that is ours, or a free one if ARGV[3] says so."""
    free = run.call(0, b"EXISTS", run.key(1)) == 0 and run.arg(3) == b"yes"
    if not free and not holds(run, run.key(1)):
        return None
    return run.call(1, b"SET", run.key(1), run.arg(1), b"PX", run.arg(2))


def acquire_for_seconds(run: Run) -> Value:
    """SETNX, then EXPIRE, whatever ARGV[2] is: the script compares text with a number."""
    result = run.call(0, b"SETNX", run.key(1), run.arg(1))
    if result == 1:
        run.call(1, b"EXPIRE", run.key(1), run.arg(2))
    return result


def acquire_for_ms(run: Run) -> Value:
    """SETNX, then PEXPIRE if there is a time."""
    result = run.call(0, b"SETNX", run.key(1), run.arg(1))
    if result == 1:
        time_ms = run.number(2, run.arg(2), NIL_COMPARED)
        if time_ms > 0:
            run.call(1, b"PEXPIRE", run.key(1), time_ms)
    return result


# Keeping


def extend_to(run: Run) -> Value:
    """PEXPIRE a lock that is ours: this many milliseconds from now."""
    return run.call(1, b"PEXPIRE", run.key(1), run.arg(2)) if holds(run, run.key(1)) else 0


def extend_by(run: Run) -> Value:
    """PEXPIRE a lock that is ours and has a time: from now on, or added to it if ARGV[3] is 0."""
    if not holds(run, run.key(1)):
        return 0
    left = run.call(1, b"PTTL", run.key(1))
    assert isinstance(left, int)
    if left < 0:
        return 0
    time: Value = run.arg(2)
    if run.arg(3) == b"0":
        time = run.number(3, run.arg(2), STRING_ADDED) + left
    run.call(2, b"PEXPIRE", run.key(1), time)
    return 1


def extend_each(run: Run) -> Value:
    """SET many locks again if all are ours; how many."""
    return _set_each(run) if all(holds(run, key) for key in run.keys) else 0


def extend_seconds(run: Run) -> Value:
    """EXPIRE a lock that is ours."""
    if not holds(run, run.key(1)):
        return 0
    run.call(1, b"EXPIRE", run.key(1), run.arg(2))
    return 1


def extend_timed(run: Run) -> Value:
    """EXPIRE a lock that is ours; 1: it is not, 2: it has no time."""
    if not holds(run, run.key(1)):
        return 1
    left = run.call(1, b"TTL", run.key(1))
    assert isinstance(left, int)
    if left < 0:
        return 2
    run.call(2, b"EXPIRE", run.key(1), run.arg(2))
    return 0


# Looking


def left(run: Run) -> Value:
    """PTTL of a lock that is ours, 0 for any other."""
    value = run.call(1, b"PTTL", run.key(1)) if holds(run, run.key(1)) else 0
    assert isinstance(value, int)
    return max(value, 0)


def left_or_minus_three(run: Run) -> Value:
    """PTTL of a lock that is ours."""
    return run.call(1, b"PTTL", run.key(1)) if holds(run, run.key(1)) else -3


def left_or_fail(run: Run) -> Value:
    """TTL of a lock that is ours; any other is an error."""
    if not holds(run, run.key(1)):
        raise CommandError(NOT_OURS)
    return run.call(1, b"TTL", run.key(1))


def holder_and_left(run: Run) -> Value:
    """The holder of the lock, and its PTTL."""
    return [run.call(0, b"GET", run.key(1)), run.call(0, b"PTTL", run.key(1))]


# Caches and rate limits: counters that expire, and a SET that looks first


def count_from_one(run: Run) -> Value:
    """INCRBY; the first call sets the expiry time."""
    count = run.call(0, b"INCRBY", run.key(1), run.arg(1))
    if count == 1:
        run.call(1, b"PEXPIRE", run.key(1), run.arg(2))
    return count


def count_amount(run: Run) -> Value:
    """The same, for a first step of any size, and with the arguments in reverse order."""
    amount = to_number(run.arg(2))
    count = run.call(0, b"INCRBY", run.key(1), amount)
    if count == amount:
        run.call(1, b"EXPIRE", run.key(1), run.arg(1))
    return count


def count(run: Run) -> Value:
    """INCRBY."""
    return run.call(0, b"INCRBY", run.key(1), run.arg(1))


def count_known(run: Run) -> Value:
    """INCRBY if the key exists."""
    known = run.call(0, b"EXISTS", run.key(1)) == 1
    return run.call(1, b"INCRBY", run.key(1), run.arg(1)) if known else None


def replace(run: Run) -> Value:
    """SET if the value is ARGV[2], with a time if ARGV has two more words."""
    value = run.call(0, b"GET", run.key(1))
    if value is None or value != run.arg(2):
        return 0
    time = run.args[2:] if len(run.args) == 4 else []
    return run.call(1, b"SET", run.key(1), run.arg(1), *time)


#: SHA1 of the text, its sender, its purpose, the lines of its calls.
SCRIPTS = [
    Script(sha.encode(), title, run, lines)
    for sha, title, run, lines in (
        ("c3f8721cbb97f72bc19e972846bd7aaf91901658", "redis-py Lock: release", release, (2, 6)),
        ("a4e8783852e6b949f9ef3a97212805108459a890", "redis-py Lock: extend", extend_by,
         (2, 6, 18, 16)),
        ("1cac51482acf5858da00f6d685d68f886cd6b6b2", "redis-py Lock: reacquire", extend_to, (2, 6)),
        ("4e92fdc63815b3a0a2dd1c1df3694de73607c88d", "redlock-py: unlock", release, (2, 3)),
        ("fc03c85cef965af38f17fef05d68cc66c7d85c96", "redlock (Python): release", release, (2, 3)),
        ("a4aada0b36710970eedaaaeec4a6b7d8c78c4f80", "pottery Redlock: release", release, (2, 3)),
        ("ba015a80261b616e7a62d35df0b8e3edbe6c9414", "pottery Redlock: extend", extend_to, (2, 3)),
        ("f5f7bd3a3aa4a63c507c1155c5ea1219b350d992", "pottery Redlock: locked", left, (2, 3)),
        ("c75a9bf1538efcdb1f383acc3e273c5089d57e58", "aioredlock: set", acquire_or_fail, (1, 3)),
        ("241e4ca540a1cc4ec1f32d9eb9f879e607d7e6e5", "aioredlock: unset", release_or_fail, (1, 5)),
        ("f908d3f43dbcabc68fc0c9ecaf1fa4a285ecdb0a", "aioredlock: ttl", left_or_fail, (1, 5)),
        ("90da91872223f85eb1376a17e3c4df21ace8c54b", "python-redis-lock: unlock",
         release_and_signal, (2, 5, 6, 7, 8)),
        ("fed16109024d968d9496e4140fe1355bac05ebff", "python-redis-lock: extend", extend_timed,
         (2, 4, 7)),
        ("afbc8014508f92e446b56567e8ba600e811c1bd5", "python-redis-lock: reset", release_whoever,
         (2, 3, 4, 5)),
        ("b121d3548d693116c3851b63befe947e49f28c7c", "python-redis-lock: reset all", release_all,
         (2, 6, 7, 8, 9)),
        ("7bcdefae3714859f68f1f2377bddae74a1af9391", "sherlock: acquire", acquire_for_seconds,
         (2, 4)),
        ("bfb9f817b2e860fe4fc58656b2bf657d3fdc2be1", "sherlock: release", release, (3, 4)),
        ("8a7fdef25bdef981900f982f5773edaf35000372", "sherlock: renew", extend_seconds, (3, 5)),
        ("d893d8da0844b834c9c5a41fb79b469749e6f442", "walrus Lock: acquire", acquire_for_ms,
         (4, 6, 5)),
        ("758ee2fc57c84a93a25cd712f592a1b4898d6c03", "walrus Lock: release", release_and_tell,
         (4, 5, 6, 7)),
        ("aefc6bbfaac1ed02c135d12b12c8c42cdfb36af4", "cashews: unlock", release, (2, 3)),
        ("3d81f722705f10ddf6b6293e1833fd32a86e93ea", "cashews: incr", count_from_one, (2, 4)),
        ("ae3671744a5dbb24ea37ef607b8b10ac7856d43e", "aiocache: release", release, (1, 1)),
        ("782e993d12091daacc7a3164ddf5c4624fe56042", "aiocache: compare and set", replace, (1, 1)),
        ("f4a7da3e5d8ea3b46642af08427151cae0190400", "django-redis: incr", count_known, (2, 4)),
        ("4d15273b16b10c15e1d9202cbe93c959ab7d250b", "django-redis: incr, no check", count, (2,)),
        ("628bd136a573a06b346879695681af12ccef300f", "limits: fixed window", count_amount, (3, 6)),
        ("862f31bf38e9b63ce28d6e9e5143551bb34ef981", "redlock (Node) 3: lock", acquire, (1,)),
        ("cf0e94b2e9ffc7e04395cf88f7583fc309985910",
         "redlock (Node) 3: unlock; redislock (Go): release", release, (1, 1)),
        ("a7aba3bc5d6e99b3003da8b9d80a63b9f4092ecf",
         "redlock (Node) 3: extend; redislock (Go): refresh", extend_to, (1, 1)),
        ("d01fb69e6ecc8bad3ca9bacba9f4f9e96862313f", "redlock (Node) 4.0: lock", acquire_each,
         (4, 11)),
        ("517e7ed95f00c0c4a209c6a7afcc6ab797d30b85", "redlock (Node) 4.0 and 4.1: unlock",
         release_each, (5, 6)),
        ("acaf90b4697bb48bb5f603e9e613a54df7536c70", "redlock (Node) 4.0: extend", extend_each,
         (4, 11)),
        ("e5a322e2634ef59a516e8ea150cb085afafee684", "redlock (Node) 4.1 and 4.2: lock",
         acquire_each, (4, 11)),
        ("1d48b4c6fea2cdadc46b3346de5c2eaf121c7bb3", "redlock (Node) 4.1: extend", extend_each,
         (4, 11)),
        ("0f0f23b9048b36752b5be114f357ba083449f908", "redlock (Node) 4.2: unlock", release_each,
         (5, 6)),
        ("ce46f80993d5dac20dd066eb301a4e37994bdbed", "redlock (Node) 4.2: extend", extend_each,
         (4, 11)),
        ("96da70f7716f27d278a5218544df37fd8b0a5e4c", "redlock (Node) 5: acquire", acquire_each,
         (4, 11)),
        ("aed6f382e410db8ba7926d4e5e9aab410bf2a78a", "redlock (Node) 5: extend", extend_each,
         (4, 11)),
        ("e4612211c9f8f51c257e26e056b0a654b3187242", "redlock (Node) 5: release", release_each,
         (5, 6)),
        ("7157921a7cc7cfba979acf6d63f073151df17d12", "redis-semaphore (Node): release of a mutex",
         release, (5, 6)),
        ("594683e49a64ebaf975caf5f8079a1d097c438f1", "redis-semaphore (Node): refresh of a mutex",
         extend_to, (6, 9)),
        ("00583931c4e4d483f6233879c133c71ed5393f9d", "redsync (Go): release", release, (2, 3)),
        ("d75bb8b5bd13532ddedd17762e772346e39b321e", "redsync (Go): extend", extend_to, (2, 3)),
        ("6484da7d58920897fdc22b7f9afd1a3d47524ea8", "redislock (Go): ttl", left_or_minus_three,
         (1, 1)),
        ("8e4905cee18e7c3188d10f2b8b170e403baed34f", "redlock (Ruby): unlock", release, (1, 2)),
        ("ceb2b2062e40c51a2b3963fd078bc71f11bdc65c", "redlock (Ruby): lock", acquire_or_keep,
         (1, 2)),
        ("78d2ca48a6dc9ef6892059792a3a0c5237733d64", "redlock (Ruby): ttl", holder_and_left, (1,)),
        ("647c65a442733a1aa440f99908d249d13b4d6c4a", "Laravel cache lock: release", release,
         (1, 2)),
        ("e9f69f2beb755be68b5e456ee2ce9aadfbc4ebf4", "the release of Redis's manual, on one line",
         release, (1, 1)),
        ("b70c2384248f88e6b75b9f89241a180f856ad852", "the same with other quotes and blanks",
         release, (1, 1)),
    )
]  # fmt: skip

BY_SHA = {script.sha: script for script in SCRIPTS}
