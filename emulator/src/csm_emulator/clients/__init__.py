"""Clients of the emulated services, for the other services: one module for each service that is called.

They send their requests over the mesh. The callers' error texts are in the callers.
"""
