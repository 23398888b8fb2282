"""The container ``ansible`` of a session's job."""
