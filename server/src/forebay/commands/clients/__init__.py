"""A connection and its client: HELLO, CLIENT, MULTI, SUBSCRIBE and related commands."""
