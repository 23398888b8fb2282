"""Components of CFS: the desired configuration of each node, and how far it has come."""
