"""Create, update, patch, delete, and the checks before them."""
