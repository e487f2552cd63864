"""The loop of a process: fetch, run, settle, renew, and stop cleanly."""
