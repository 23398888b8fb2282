"""``/hardware`` and ``/search/hardware``."""
