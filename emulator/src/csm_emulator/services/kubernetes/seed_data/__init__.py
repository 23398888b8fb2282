"""What the cluster holds on the first day."""
