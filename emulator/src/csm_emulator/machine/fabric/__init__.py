"""The high-speed network: cables, switch ports, and which nodes reach each other."""
