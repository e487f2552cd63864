"""How to reach a server, what it can do, and what to do while it is away."""
