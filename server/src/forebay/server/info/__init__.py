"""What INFO tells, and where its numbers come from."""
