"""Objects: put, get, copy, delete."""
