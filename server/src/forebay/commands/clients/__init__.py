"""A connection and its client: HELLO, CLIENT, MULTI, SUBSCRIBE and their kin."""
