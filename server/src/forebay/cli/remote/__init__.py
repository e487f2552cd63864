"""A server somewhere else, and how the command line talks to it.

    address.py    where it is: a URL taken apart
    link.py       one connection: commands out, replies in
    server.py     a link with manners: refusals become sentences that say what to do
    refusals.py   those sentences
    names.py      the streams of a server, by name and by pattern

redis-py makes the connection (names, sockets, TLS), hiredis reads the replies.  A reply stays what
the server said, bytes and all: redis-py's own commands would make dictionaries of entries, and a
field that stands twice in an entry would be lost.

``forebay serve`` never comes here: a server starts without a client.
"""
