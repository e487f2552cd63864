"""Looking at servers while they work: ``forebay top`` and ``forebay bench``.

top.py        the command: a table that is drawn again and again
sample.py     all streams and groups at one moment, and what changed since the last
bench.py      the command: the same work at one or two servers, in turns
works.py      the work to measure, as bytes that are ready before the clock starts
crowd.py      many connections in one thread, with as little work for each as possible
"""
