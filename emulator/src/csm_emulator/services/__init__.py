"""One package for each service, named after it. Its ``routes`` module has ``create_service(context)``, which returns an
``EmulatedService``. Services never import one another: they send requests over the mesh, as the real services do.
"""
