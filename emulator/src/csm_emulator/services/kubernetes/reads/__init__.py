"""Get, list, watch, tables, discovery."""
