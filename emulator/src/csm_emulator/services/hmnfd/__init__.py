"""HMNFD, the notification fan-out: HSM tells it of state changes, and it tells every node that subscribed."""
