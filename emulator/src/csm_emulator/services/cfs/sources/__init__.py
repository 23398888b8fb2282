"""Sources: repositories with credentials of their own."""
