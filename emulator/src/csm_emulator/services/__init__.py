"""One folder for each service, named as the service. Its ``routes.py`` has ``create_service(context)``, which returns
the ``EmulatedService``. Services never import one another: they send requests over the mesh, as the real services do,
with the clients of ``csm_emulator.clients``.
"""
