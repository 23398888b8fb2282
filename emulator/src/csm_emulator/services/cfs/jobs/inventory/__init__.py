"""The container ``inventory`` of a session's job: which hosts it configures."""
