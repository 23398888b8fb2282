"""Storage of objects and their history, as in etcd."""
