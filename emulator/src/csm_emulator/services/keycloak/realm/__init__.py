"""The data of a realm: users, groups, roles, keys, sessions."""
