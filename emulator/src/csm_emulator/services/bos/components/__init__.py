"""Components of BOS: the desired and the actual state of each node."""
