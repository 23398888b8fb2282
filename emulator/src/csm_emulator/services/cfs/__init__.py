"""CFS: configurations, sessions and components, version 3 with version 2 as a translation, and the batcher.

``runs`` runs sessions; it sees the rest through ``book`` only.
"""
