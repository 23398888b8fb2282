"""A provider for demos and laptops: what a site's devices show is kept in a folder, so it outlives every process.

Not an emulator: it speaks no wire protocol, and nothing here is taken for a real system's behaviour.
"""
