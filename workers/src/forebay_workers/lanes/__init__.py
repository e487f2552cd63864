"""The messages of this process: how many, in which order they run, how long they are ours."""
