"""A job queue: workers, retries, dead letters and a redrive."""
