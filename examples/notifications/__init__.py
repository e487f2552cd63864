"""Notifications: a capped stream for each user, and what is unread."""
