"""Objects and their history, as etcd keeps them."""
