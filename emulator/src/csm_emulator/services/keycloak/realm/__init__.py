"""What the realm ``shasta`` holds: users, groups, roles, keys, sessions."""
