"""Groups, partitions and memberships."""
