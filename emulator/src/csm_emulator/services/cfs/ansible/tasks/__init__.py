"""Parsing tasks, and running a task on its hosts."""
