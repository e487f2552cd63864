"""Messages to streams: one, many, and each once."""
