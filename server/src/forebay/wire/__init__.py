"""The protocol without a socket: bytes in, argv out; values in, bytes out."""
