"""Cloud-init: meta-data and user-data of a node."""
