"""The AOF, the snapshots and the files they live in; only ``files`` touches the disk."""
