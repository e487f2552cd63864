"""``forebay doctor``: is this machine fit for a server, and is the server well?

    examine.py            the command: order of the work, exit code
    tree.py               /proc and /sys as a tree of files, below any folder
    subject.py            the server for which a machine is judged
    disk.py, clock.py, kernel.py, memory.py          judge the machine
    patient.py            a server, looked at twice
    links.py, replicas.py, saving.py, load.py        judge the server
    finding.py            one judgement: a level, a sentence, what to do
    report.py             the report

Code that measures does not judge: a judge is a function of numbers, so a test can pass any numbers.
"""
