"""The ground truth: what hardware there is, what it does in virtual time, and what is wrong with it.

Knows no protocol. State that must survive lives on shelves, what is to come lives in the agenda, both as plain data.
"""
