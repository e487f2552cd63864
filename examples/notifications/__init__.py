"""Notifications: a capped stream for each user, and the unread entries."""
