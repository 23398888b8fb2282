"""Session templates, and the sessions that are made from them."""
