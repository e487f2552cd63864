"""Hand-written scripts: the details that users and clients rely on, compared byte for byte."""

from __future__ import annotations

import shlex

import pytest

from testkit.compat.differ import check
from testkit.compat.scripts import Script
from testkit.servers import ServerProcess

pytestmark = pytest.mark.oracle

FIELDS = "rider Castilla speed 30.2 position 1 location_id 1"
MAX = "18446744073709551615"
LONG_MAX = "9223372036854775807"


def adds(count: int, key: str = "s", fields: str = FIELDS) -> str:
    return "\n".join(f"XADD {key} {i}-1 {fields}" for i in range(1, count + 1))


SCENARIOS = {
    "ids at the end of their range": f"""
        XADD s {MAX}-{int(MAX) - 1} a 1
        XADD s {MAX}-* a 2
        XADD s {MAX}-* a 3
        XADD s * a 4
        XADD s {MAX}-{MAX} a 5
        XRANGE s - +
        XRANGE s ({MAX}-{MAX} +
        XREVRANGE s (0-0 -
        XRANGE s - (0-0
        XRANGE s ( +
        XRANGE s (- +
        XREAD STREAMS s {MAX}-{MAX}
        XINFO STREAM s
    """,
    "ids as people write them": """
        XADD s 0-0 a 1
        XADD s 0-* a 1
        XADD s 007-003 a 1
        XADD s 7 a 1
        XADD s 8 a 1
        XADD s 9- a 1
        XADD s -9 a 1
        XADD s 9-9-9 a 1
        XADD s 9-** a 1
        XADD s abc a 1
        XADD s "" a 1
        XADD s 18446744073709551616 a 1
        XADD s 9-18446744073709551616 a 1
        XRANGE s 7 7
        XRANGE s 7-3 8
        XRANGE s + -
        XRANGE s 8 7
        XRANGE s - + COUNT 0
        XRANGE s - + COUNT -1
        XRANGE s - + COUNT
        XRANGE s - + COUNT x
        XRANGE s - + LIMIT 1
        XRANGE s - + COUNT 1 COUNT 2
        XRANGE none - + COUNT 0
    """,
    "fields of every kind": f"""
        XADD s 1-1 "" ""
        XADD s 1-2 a 1 a 2 a 3
        XADD s 1-3 a 1 b
        XADD s 1-4 {" ".join(f"f{i} {i}" for i in range(300))}
        XADD s 1-5 n 0 n -1 n 127 n 128 n -4096 n 4095 n 4096 n 32767 n 32768 n 8388607 n 8388608
        XADD s 1-6 n 2147483647 n 2147483648 n {LONG_MAX} n -{LONG_MAX}8 n 007 n -0 n +1 n 1.0
        XADD s 1-7 {"x" * 63} {"y" * 64} {"z" * 4095} {"w" * 4096}
        XADD s 1-8 {"v" * 5000} {"u" * 70000}
        XADD s 1-9 a 1
        XRANGE s - +
        XREVRANGE s + -
        XINFO STREAM s
    """,
    "many nodes": f"""
        {adds(350)}
        XINFO STREAM s
        XDEL s {" ".join(f"{i}-1" for i in range(2, 200, 2))}
        XINFO STREAM s
        XRANGE s 95 105
        XDEL s {" ".join(f"{i}-1" for i in range(1, 102))}
        XINFO STREAM s
        XTRIM s MAXLEN ~ 100
        XTRIM s MAXLEN ~ 10 LIMIT 50
        XTRIM s MAXLEN ~ 10 LIMIT 100
        XTRIM s MINID ~ 310
        XTRIM s MINID 310
        XTRIM s MAXLEN = 5
        XTRIM s MAXLEN 0
        XINFO STREAM s
        XADD s MAXLEN ~ 10 400-1 a b
        XADD s MINID 401 401-1 a b
        XADD s MAXLEN 0 402-1 a b
        XRANGE s - +
        XLEN s
    """,
    "trimming words": """
        XADD s MAXLEN 3 1-1 a b
        XADD s MAXLEN -1 1-2 a b
        XADD s MAXLEN x 1-2 a b
        XADD s MAXLEN = 3 MINID 1 1-2 a b
        XADD s LIMIT 3 1-2 a b
        XADD s MAXLEN 3 LIMIT 3 1-2 a b
        XADD s MAXLEN ~ 3 LIMIT -1 1-2 a b
        XADD s MAXLEN ~ 3 LIMIT 0 1-2 a b
        XADD s MINID x 1-3 a b
        XADD s MAXLEN
        XADD s 1-9 MAXLEN
        XADD s NOMKSTREAM MAXLEN ~ 3 1-4 a b
        XADD none NOMKSTREAM 1-1 a b
        XTRIM s
        XTRIM s FOO 1
        XTRIM s MAXLEN
        XTRIM s MAXLEN 1 FOO
        XTRIM none MAXLEN 1 FOO
        XTRIM none MAXLEN 1
        XTRIM s LIMIT 5
        XTRIM s MAXLEN 1 LIMIT 5
        XTRIM s MAXLEN ~ 1 LIMIT 5
    """,
    "wrong types": "SET t 1\n"
    + "\n".join(
        command.replace("KEY", "t")
        for command in (
            *("XADD KEY * a b", "XADD KEY NOMKSTREAM * a b", "XLEN KEY", "XRANGE KEY - +"),
            *("XREVRANGE KEY + -", "XREAD STREAMS KEY 0", "XREAD STREAMS KEY $", "XDEL KEY 1-1"),
            *("XREADGROUP GROUP g c STREAMS KEY >", "XGROUP CREATE KEY g $", "XTRIM KEY MAXLEN 1"),
            *("XGROUP CREATE KEY g $ MKSTREAM", "XGROUP SETID KEY g 0", "XGROUP DESTROY KEY g"),
            *("XGROUP CREATECONSUMER KEY g c", "XGROUP DELCONSUMER KEY g c", "XACK KEY g 1-1"),
            *("XPENDING KEY g", "XPENDING KEY g - + 1", "XCLAIM KEY g c 0 1-1", "XSETID KEY 1-1"),
            *("XAUTOCLAIM KEY g c 0 0", "XINFO STREAM KEY", "XINFO GROUPS KEY"),
            *("XINFO CONSUMERS KEY g", "XINFO STREAM KEY FULL", "LPUSH KEY a", "SADD KEY a"),
        )
    )
    + "\nXADD s 1-1 a b\nGET s\nINCR s\nLPUSH s a\nSADD s a\nSMEMBERS s\nLRANGE s 0 -1\nSTRLEN s\n",
    "keys and groups that are not there": "\n".join(
        (
            *("XLEN n", "XRANGE n - +", "XREAD STREAMS n 0", "XDEL n 1-1", "XACK n g 1-1"),
            *("XDEL n x", "XACK n g x", "XGROUP CREATE n g $", "XGROUP SETID n g 0"),
            *("XGROUP DESTROY n g", "XGROUP CREATECONSUMER n g c", "XGROUP DELCONSUMER n g c"),
            *("XPENDING n g", "XPENDING n g - + 1", "XCLAIM n g c 0 1-1", "XAUTOCLAIM n g c 0 0"),
            *("XINFO STREAM n", "XINFO GROUPS n", "XINFO CONSUMERS n g", "XSETID n 1-1"),
            *(
                "XREADGROUP GROUP g c STREAMS n >",
                "XADD s 1-1 a b",
                "XREADGROUP GROUP g c STREAMS s >",
            ),
            *("XGROUP SETID s g 0", "XGROUP DESTROY s g", "XGROUP CREATECONSUMER s g c"),
            *(
                "XGROUP DELCONSUMER s g c",
                "XPENDING s g",
                "XCLAIM s g c 0 1-1",
                "XAUTOCLAIM s g c 0 0",
            ),
            *("XINFO GROUPS s", "XINFO CONSUMERS s g", "XACK s g 1-1", "XPENDING n g x + 1"),
            *("XCLAIM n g c x 1-1", "XAUTOCLAIM n g c x 0", "XGROUP CREATE n g x"),
        )
    ),
    "a group from the start to the end": f"""
        {adds(10)}
        XGROUP CREATE s g 0
        XGROUP CREATE s g 0
        XGROUP CREATECONSUMER s g bob
        XGROUP CREATECONSUMER s g bob
        XREADGROUP GROUP g alice COUNT 2 STREAMS s >
        XREADGROUP GROUP g bob COUNT 3 STREAMS s >
        XREADGROUP GROUP g bob NOACK COUNT 1 STREAMS s >
        XINFO GROUPS s
        XINFO CONSUMERS s g
        XPENDING s g
        XPENDING s g - + 10
        XPENDING s g - + 10 bob
        XPENDING s g (1-1 (5-1 10
        XPENDING s g IDLE 0 - + 10
        XPENDING s g IDLE 100000 - + 10
        XPENDING s g - + 0
        XPENDING s g - + -1
        XPENDING s g - +
        XPENDING s g - + 10 nobody
        XREADGROUP GROUP g alice STREAMS s 0
        XREADGROUP GROUP g alice STREAMS s 1-1
        XDEL s 1-1
        XREADGROUP GROUP g alice STREAMS s 0
        XACK s g 1-1 1-1 2-1 99-1
        XACK s g x
        XREADGROUP GROUP g alice STREAMS s 0
        XREADGROUP GROUP g alice COUNT 0 STREAMS s >
        XREADGROUP GROUP g alice STREAMS s >
        XINFO STREAM s FULL
        XINFO STREAM s FULL COUNT 1
        XINFO STREAM s FULL COUNT 0
        XINFO STREAM s FULL COUNT -5
        XINFO STREAM s FULL COUNT
        XINFO STREAM s FULL LIMIT 1
        XGROUP SETID s g 0
        XREADGROUP GROUP g bob COUNT 3 STREAMS s >
        XPENDING s g
        XGROUP DELCONSUMER s g bob
        XGROUP DELCONSUMER s g bob
        XPENDING s g
        XGROUP SETID s g $
        XGROUP SETID s g + ENTRIESREAD 3
        XGROUP SETID s g - ENTRIESREAD -1
        XGROUP SETID s g 0 ENTRIESREAD -2
        XGROUP DESTROY s g
        XGROUP DESTROY s g
    """,
    "claims of every kind": f"""
        {adds(8)}
        XGROUP CREATE s g 0
        XREADGROUP GROUP g alice STREAMS s >
        XCLAIM s g bob 0 1-1
        XCLAIM s g bob 100000 2-1
        XCLAIM s g bob 0 2-1 3-1 JUSTID
        XCLAIM s g bob 0 2-1 RETRYCOUNT 7
        XCLAIM s g bob 0 2-1 IDLE 1000 RETRYCOUNT 0 FORCE JUSTID LASTID 9-9
        XCLAIM s g bob 0 99-1
        XCLAIM s g bob 0 99-1 FORCE
        XDEL s 4-1 5-1
        XCLAIM s g bob 0 4-1
        XPENDING s g - + 10
        XCLAIM s g bob 0 x
        XCLAIM s g bob 0 1-1 FOO
        XCLAIM s g bob x 1-1
        XCLAIM s g bob -5 1-1
        XCLAIM s g bob 0 1-1 IDLE x
        XCLAIM s g bob 0 1-1 TIME x
        XCLAIM s g bob 0 1-1 RETRYCOUNT x
        XCLAIM s g bob 0 1-1 RETRYCOUNT -1
        XCLAIM s g bob 0 1-1 LASTID x
        XAUTOCLAIM s g carol 0 - COUNT 2
        XAUTOCLAIM s g carol 0 3-1 COUNT 2
        XAUTOCLAIM s g carol 0 (3-1 COUNT 1 JUSTID
        XAUTOCLAIM s g carol 0 0 COUNT {LONG_MAX}
        XAUTOCLAIM s g carol 0 0 COUNT 0
        XAUTOCLAIM s g carol 0 0 COUNT -1
        XAUTOCLAIM s g carol 0 0 COUNT x
        XAUTOCLAIM s g carol 0 0 COUNT 9223372036854775808
        XAUTOCLAIM s g carol 0 0 FOO
        XAUTOCLAIM s g carol x 0
        XAUTOCLAIM s g carol 0 x
        XAUTOCLAIM s g carol 100000 0
        XAUTOCLAIM s g carol 0 ({MAX}-{MAX}
        XACK s g 1-1 2-1 3-1 4-1 5-1 6-1 7-1 8-1
        XAUTOCLAIM s g carol 0 0
        XPENDING s g
    """,
    "autoclaim over entries that are gone": f"""
        {adds(12)}
        XGROUP CREATE s g 0
        XREADGROUP GROUP g alice STREAMS s >
        XTRIM s MAXLEN 3
        XAUTOCLAIM s g bob 0 0 COUNT 2
        XAUTOCLAIM s g bob 0 0 COUNT 3
        XAUTOCLAIM s g bob 0 0
        XPENDING s g
    """,
    "words in the wrong place": """
        XADD
        XADD s
        XADD s 1-1
        XADD s 1-1 a
        XREAD
        XREAD STREAMS s
        XREAD STREAMS s 0 0
        XREAD COUNT STREAMS s 0
        XREAD COUNT x STREAMS s 0
        XREAD BLOCK -1 STREAMS s 0
        XREAD BLOCK x STREAMS s 0
        XREAD GROUP g c STREAMS s 0
        XREAD NOACK STREAMS s 0
        XREAD FOO STREAMS s 0
        XREAD STREAMS s >
        XREAD COUNT 1 s 0
        XREADGROUP GROUP g c STREAMS s
        XREADGROUP GROUP g c STREAMS s s >
        XREADGROUP STREAMS s > a b c
        XREADGROUP COUNT 1 STREAMS s > x
        XADD s 1-1 a b
        XGROUP CREATE s g 0
        XREADGROUP GROUP g c STREAMS s $
        XREADGROUP GROUP g c STREAMS s x
        XREADGROUP GROUP g c FOO STREAMS s >
        XGROUP
        XGROUP FOO
        XGROUP FOO s g
        XGROUP CREATE
        XGROUP CREATE s
        XGROUP CREATE s g2
        XGROUP CREATE s g2 0 FOO
        XGROUP CREATE s g2 0 MKSTREAM FOO
        XGROUP CREATE s g2 0 ENTRIESREAD
        XGROUP CREATE s g2 0 ENTRIESREAD x
        XGROUP CREATE s g2 0 ENTRIESREAD -2
        XGROUP CREATE s g2 -
        XGROUP DESTROY s
        XGROUP DESTROY s g x
        XGROUP HELP
        XGROUP HELP x
        XINFO
        XINFO FOO
        XINFO FOO s
        XINFO STREAM
        XINFO STREAM s x
        XINFO GROUPS s x
        XINFO CONSUMERS s
        XINFO HELP
        XSETID s
        XSETID s x
        XSETID s 0-1
        XSETID s 5-5 ENTRIESADDED 0
        XSETID s 5-5 ENTRIESADDED -1
        XSETID s 5-5 ENTRIESADDED x
        XSETID s 5-5 MAXDELETEDID 6-6
        XSETID s 5-5 FOO 1
        XSETID s 5-5 ENTRIESADDED 9 MAXDELETEDID 4-4
        XSETID s 5-5
        XINFO STREAM s
        XPENDING s
        XPENDING s g -
        XPENDING s g IDLE x - + 1
        XPENDING s g - + x
        XPENDING s g IDLE 1
        XACK s g
        XDEL s
        XDEL s x
        XLEN
        XLEN s s
        XFOO a b c
        FOO
        "foo bar" "with spaces" and more
    """,
    "transactions": """
        MULTI
        XADD s 1-1 a b
        XREAD BLOCK 0 STREAMS s $
        XLEN s
        XADD s 1-1 a b
        EXEC
        MULTI
        XADD s
        XADD s 2-1 a b
        EXEC
        MULTI
        XFOO
        EXEC
        EXEC
        DISCARD
        MULTI
        MULTI
        XGROUP CREATE s g 0
        XREADGROUP GROUP g c BLOCK 0 STREAMS s >
        XREADGROUP GROUP g c BLOCK 0 STREAMS s >
        XACK s g 1-1
        EXEC
        WATCH s
        XADD s 3-1 a b
        MULTI
        XLEN s
        EXEC
        WATCH s
        XACK s g 1-1
        MULTI
        XLEN s
        EXEC
        MULTI
        XADD s 4-1 a b
        DISCARD
        XLEN s
        MULTI
        WATCH s
        EXEC
    """,
    "times at the end of their range": f"""
        SET k v
        PEXPIREAT k {LONG_MAX}
        PEXPIRETIME k
        EXPIREAT k {LONG_MAX}
        PEXPIRE k {LONG_MAX}
        EXPIRE k {LONG_MAX}
        EXPIRE k -{LONG_MAX}
        EXISTS k
        SET k v PXAT {LONG_MAX}
        PEXPIRETIME k
        SET k v EXAT {LONG_MAX}
        SET k v PX {LONG_MAX}
        PSETEX k {LONG_MAX} v
        SETEX k {LONG_MAX} v
        GETEX k PXAT {LONG_MAX}
        XADD s 1-1 a b
        XREAD COUNT {LONG_MAX} STREAMS s 0
        XPENDING s g IDLE {LONG_MAX} - + 1
    """,
    "copies and new names": """
        XADD s 1-1 a b
        XADD s 2-1 a b
        XDEL s 1-1
        XGROUP CREATE s g 0
        XREADGROUP GROUP g c STREAMS s >
        COPY s t
        XINFO STREAM t FULL
        XADD t 3-1 a b
        XACK t g 2-1
        XPENDING s g
        RENAME s u
        XREADGROUP GROUP g c STREAMS u 0
        RENAME none u
        COPY none t
        COPY u t
        COPY u t REPLACE
        XINFO STREAM t
        TYPE u
        OBJECT ENCODING u
        EXISTS s t u
        DEL s t u
        DBSIZE
    """,
    "where the keys stand": "\n".join(
        f"COMMAND GETKEYS {command}"
        for command in (
            *("XADD s * a b", "XLEN s", "XRANGE s - +", "XREAD STREAMS a b 0 0"),
            *("XREAD COUNT 1 BLOCK 0 STREAMS a b c 0 0 0", "XGROUP CREATE s g $", "XINFO STREAM s"),
            *(
                "XREADGROUP GROUP g c COUNT 1 STREAMS a b > >",
                "XREADGROUP GROUP STREAMS c STREAMS a >",
            ),
            *("XCLAIM s g c 0 1-1", "XAUTOCLAIM s g c 0 0", "XACK s g 1-1", "XPENDING s g"),
            *(
                "XTRIM s MAXLEN 1",
                "XDEL s 1-1",
                "XSETID s 1-1",
                "PING",
                "FOO",
                "XREAD a",
                "SET a b",
            ),
            *("SET a b", "MSET a 1 b 2", "DEL a b c", "COPY a b", "BLPOP a b 0"),
        )
    ),
}


def script(text: str, protocol: int) -> Script:
    """The lines of a scenario as commands."""
    lines = [shlex.split(line) for line in text.splitlines() if line.strip()]
    return [["HELLO", str(protocol)], *lines]


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_answered_alike(
    name: str, protocol: int, redis_server: ServerProcess, forebay_server: ServerProcess
) -> None:
    check(redis_server, forebay_server, [script(SCENARIOS[name], protocol)])
