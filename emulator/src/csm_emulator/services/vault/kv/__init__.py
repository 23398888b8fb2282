"""The key-value engine, version 2."""
