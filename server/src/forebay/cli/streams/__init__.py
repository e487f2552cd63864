"""Commands about streams, against any server: Forebay, Redis or Valkey from 6.2.

    add.py                    forebay add          entries from words, or from standard input
    read_range.py             forebay range        entries between two IDs or moments
    tail.py, onlooker.py      forebay tail         the last entries, and new ones
    info.py                   forebay info         a server in short, a stream, many streams
    groups.py, reset.py       forebay groups       list, describe, create, reset, delete
    consumers.py              forebay consumers    list, delete
    pending.py                forebay pending      list, claim, ack, nack
    trim.py                   forebay trim         remove old entries
    entries.py                what entries look like, on the wire, in JSON and for people
    json_fields.py            lines of JSON as fields
    arguments.py              arguments that several of them take

Each command asks for what it needs, prints a table or JSON lines, and changes nothing on the
server unless it says otherwise.  Commands that delete ask first (cli/asking.py).
"""
