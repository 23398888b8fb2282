"""HBTD, the heartbeat tracker: it receives heartbeats of nodes, and notifies HSM when they start or stop."""
