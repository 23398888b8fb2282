"""CFS: configurations, sessions and components, and the batcher. API version 2 is a translation of version 3.

``jobs`` runs sessions; it reads and writes the other parts through ``records`` only.
"""
