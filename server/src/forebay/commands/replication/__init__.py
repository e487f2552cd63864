"""Commands of replication: who follows whom, what a link says, who waits for replicas."""
