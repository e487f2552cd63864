"""Replication without sockets: what the stream is, who has how much of it, what is said first."""
