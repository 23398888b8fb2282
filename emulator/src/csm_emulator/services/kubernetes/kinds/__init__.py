"""The kinds of objects and their schemas."""
