"""``/transitions``: power changes of many components, in order."""
