"""Who owns which partition: members, their common plan, and an owner for each partition."""
