"""WHAT EXISTS: frozen values and pure functions.

Standard library only. No clock, no input or output, no randomness: what a function needs, it is given.
Everything may import the domain; the domain imports nothing of Canton but itself.
"""
