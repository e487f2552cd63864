"""``forebay copy``: streams to streams and to files, and back.

    copy.py         the command: what is copied where, and its report
    ends.py         streams and files as ends of a copy
    pump.py         from server to server, page after page, reads against writes
    relay.py        replies of XRANGE as commands XADD, in compiled code
    start.py        where an interrupted copy continues
    carried.py      groups, consumers and pending entries
    filling.py      a file into a stream
    files.py        entries in NDJSON and CSV, in and out

A copy can be stopped at any moment and started again: it continues after the last ID of the
target, so every entry arrives once, under its own ID.  It copies the entries that a stream held
when it began; ``--follow`` also copies new ones.
"""
