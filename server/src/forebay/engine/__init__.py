"""The deterministic machine: (session, argv, now_ms) to reply and effects."""
