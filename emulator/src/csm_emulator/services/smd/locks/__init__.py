"""``/locks``: locks and reservations of components."""
