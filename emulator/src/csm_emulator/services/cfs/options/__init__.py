"""``/options``: settings of the whole service."""
