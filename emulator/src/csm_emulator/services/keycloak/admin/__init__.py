"""The administration API: users, groups, roles, the realm ``master``."""
