"""Faults: their kinds, targets and parameters, and the faults that are set."""
