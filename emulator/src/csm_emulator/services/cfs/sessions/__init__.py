"""Sessions: one run of a configuration on some targets."""
