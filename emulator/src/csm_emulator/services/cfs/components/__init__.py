"""Components of CFS: the desired configuration of each node and its status."""
