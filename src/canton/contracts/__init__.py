"""WHAT WE NEED FROM THE WORLD: small Protocols, one module per need.

A driver implements them for a real system; the engine's step kinds call nothing else. No implementation lives
here, and no type of a particular vendor.
"""
