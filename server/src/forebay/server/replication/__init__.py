"""Links between servers: to the replicas of this one, and to its primary."""
