"""BOS's operators: each runs at intervals, reads the state of components or sessions, and does one kind of action."""
