"""Access control: users, their rules, and the keys of a call."""
