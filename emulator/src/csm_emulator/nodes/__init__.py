"""Consoles of nodes: their output, logins and commands. All of it follows from the real state of the machine."""
