"""``/Inventory/Hardware``: locations, FRUs and their history."""
