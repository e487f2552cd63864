"""The Spark to run it in: a session, its Java and its workers.

session.py                  a ready-to-use session
java.py, spark_home.py      a Java if there is none; workers that start quickly (homes.py)
daemon.py                   the process from which workers are forked
versions.py, old_spark.py   which Spark is new enough, and the message for one that is too old
start_race.py               queries that start at the same time
stderr_filter.py            leaves out useless lines of the JVM
interrupts.py               Ctrl-C ends a statement, not Spark
"""
