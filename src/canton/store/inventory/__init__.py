"""Queries about what exists: sites, nodes, what was read from them."""
