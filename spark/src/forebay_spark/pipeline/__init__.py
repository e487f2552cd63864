"""Jobs that move streams into tables and back: archive, aggregate, quarantine, replay, compact.

    spec.py          the parts of a job: source, sinks, trigger; every name that a file may use
    flow.py          a streaming query of Spark that runs a function for each micro-batch
    ranges.py        which entries of a micro-batch the lake lacks
    direct_write.py  files of a lake, written by the tasks that read the entries
    trim.py          which entries may be trimmed from the server
    archive.py ...   one file a job
    config.py        the same jobs from a TOML or YAML file

docs/internals/pipeline.md explains what is exactly once, and why.
"""

from forebay_spark.runtime.session import refuse_old_spark

# An older Spark lacks names that the modules import: report the version, not the missing name.
refuse_old_spark()
