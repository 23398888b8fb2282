"""Who asks, and questions about what the caller may do."""
