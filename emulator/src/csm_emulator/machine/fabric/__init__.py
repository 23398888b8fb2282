"""The high-speed network: cables, switch ports, and which node reaches which."""
