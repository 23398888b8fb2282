"""Sources: repositories with their own credentials."""
