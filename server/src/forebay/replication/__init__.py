"""Replication without sockets: the stream, its backlog, the replicas, the handshake."""
