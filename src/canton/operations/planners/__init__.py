"""One pure planner per operation: what was read in one snapshot goes in, a plan comes out.

A planner reads no database, calls no device and knows no clock, so equal snapshots give equal digests.
"""
