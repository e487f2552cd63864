"""Who may do what: users, their rules, and the keys of a call."""
