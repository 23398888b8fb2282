"""One folder for each service, named as the service. ``face.py`` in it has ``open_face(world) -> Face``; that is all it
takes to be served. Faces never import one another: they ask over the mesh, as the real services do.
"""
