"""HSM v2 as SMD 2.45 serves it.

``database.py`` holds the tables that several parts of the API share. The modules that ``routes.py`` lists each have
``routes(hsm)`` for one part of the API.
"""
