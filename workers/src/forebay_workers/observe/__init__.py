"""What happens in a worker, for those who want to see it."""
