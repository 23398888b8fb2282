"""HMNFD, the notification fan-out: it gets state changes from HSM, and sends them to every node that subscribed."""
