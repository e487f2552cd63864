"""``forebay copy``: streams to streams and to files, and back.

    copy.py         the command: what is copied where, and what is told
    ends.py         streams and files as ends of a copy
    pump.py         from server to server, page after page, reads against writes
    relay.py        replies of XRANGE as commands XADD, in compiled code
    start.py        where a copy goes on that was begun before
    carried.py      groups, consumers and what is pending
    filling.py      a file into a stream
    files.py        entries in NDJSON and CSV, in and out

A copy can be stopped at any moment and started again: the last ID of the target says where it goes
on, so every entry arrives once, under its own ID.  It takes what a stream held when it began;
``--follow`` goes on with what comes.
"""
