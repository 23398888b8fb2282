"""The objects of the cluster on the first day."""
