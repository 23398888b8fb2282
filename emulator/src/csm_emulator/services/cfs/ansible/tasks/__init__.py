"""Tasks: how they are read, and how one runs on its hosts."""
