"""The AOF, the snapshots and their files; only ``files`` touches the disk."""
