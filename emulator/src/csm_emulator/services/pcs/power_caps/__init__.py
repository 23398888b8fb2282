"""``/power-cap``: tasks that read or set power caps."""
