"""Carries operations out: the worker, one runner per leased operation, the pure judge and schedule, the journal
writer.
"""
