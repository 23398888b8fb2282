"""Clients of the emulated services, for the other services: one module for each service that is called.

They speak over the mesh, as every caller does. They know no service's own error texts: each caller has those.
"""
