"""``/power-status``, and the polling behind it."""
