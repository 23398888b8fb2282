"""Queries about the inventory: sites, nodes, and their readings."""
