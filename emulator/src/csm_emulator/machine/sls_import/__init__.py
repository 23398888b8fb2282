"""A machine from an SLS dump of a real one."""
