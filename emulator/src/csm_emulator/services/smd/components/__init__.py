"""``/State/Components``: state, role, NID of each component."""
