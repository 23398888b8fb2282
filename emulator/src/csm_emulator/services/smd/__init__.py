"""HSM v2 as SMD 2.45 serves it. ``hsm.py`` is the database and what hangs together in it; every other module has
``routes(hsm)`` for one part of the API.
"""
