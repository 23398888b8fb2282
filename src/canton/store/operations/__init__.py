"""Queries of the engine: operations and steps, leases, claims, plans, workers."""
