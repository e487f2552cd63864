"""RDB: the format of snapshots and of DUMP payloads."""
