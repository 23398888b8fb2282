"""The real state of the machine: its hardware, what it does in virtual time, and its faults.

It knows no protocol. State that must survive a restart is in record tables, future actions are in the scheduler, both
as plain data.
"""
