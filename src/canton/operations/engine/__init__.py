"""Carries out operations: worker, one runner per leased operation, pure judge and schedule, journal writer."""
