"""A bike race on a stream: producers, a consumer group, a crash and a claim."""
