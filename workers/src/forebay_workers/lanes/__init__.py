"""What this process holds: how many messages, in which order they run, how long they are ours."""
