"""The connection of the command line to a server.

    address.py    where it is: a URL taken apart
    link.py       one connection: commands out, replies in
    server.py     a link whose refusals become sentences that say what to do
    refusals.py   those sentences
    names.py      the streams of a server, by name and by pattern

redis-py makes the connection (names, sockets, TLS), hiredis reads the replies.  A reply stays
exactly what the server sent: redis-py's own commands would make dictionaries of entries, and lose
a field whose name occurs twice in an entry.

``forebay serve`` never imports this package: a server starts without a client.
"""
