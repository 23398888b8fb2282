"""Which kinds of objects there are, and their schemas."""
