"""A server of the family: how to reach it, wait for it, and read its facts about a stream.

connect.py        a URL becomes a link: one server, a primary that Sentinel names, a cluster
long_replies.py   a page of columns, received without a copy
patience.py       waiting with back-off while a server is away
state.py          what XINFO says about a stream
capabilities.py   does the server split ranges and send columns?
glob.py           patterns as KEYS and SCAN read them
"""
