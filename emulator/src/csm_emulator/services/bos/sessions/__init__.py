"""Session templates, and the sessions that are created from them."""
