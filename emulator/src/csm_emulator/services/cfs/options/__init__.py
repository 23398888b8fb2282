"""``/options``: options of the whole service."""
