"""THE HTTP FACE: one public API, and every client is equal.

A router reads a request, asks ``policy`` through ``caller`` or ``changes``, calls the store or an operation, and
renders rows. It decides nothing itself. ``v1/`` has one module per noun. Only ``wiring`` imports this package.
"""
