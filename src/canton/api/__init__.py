"""THE HTTP API: one public API, used alike by every client.

A router reads a request, asks ``policy`` through ``caller`` or ``changes``, calls the store or an operation, and
renders rows. It decides nothing itself. ``v1/`` has one module per noun. Only ``wiring`` imports this package.
"""
