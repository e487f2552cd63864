"""Who has which partition: members, a plan that they share, and an owner for each partition."""
