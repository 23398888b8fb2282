"""Version 1 of the API: one router per noun; none knows another."""
