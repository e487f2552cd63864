"""Observing a worker: hooks, metrics, probes, traces."""
