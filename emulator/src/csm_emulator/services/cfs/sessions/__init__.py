"""Sessions: each runs a configuration once on its targets."""
