"""How a server is reached, what it can do, and what to do while it is away."""
