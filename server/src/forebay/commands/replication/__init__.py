"""Commands of replication: roles, the protocol of a link, and waiting for replicas."""
