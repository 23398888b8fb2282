"""A provider for demos and laptops: the state of a site's devices is in a folder and outlives every process.

Not an emulator: it speaks no wire protocol, and it does not show how a real system behaves.
"""
