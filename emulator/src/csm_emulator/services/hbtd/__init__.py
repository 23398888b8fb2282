"""HBTD, the heartbeat tracker: nodes beat, and HSM is told when one starts or ceases to."""
