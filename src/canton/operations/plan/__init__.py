"""A plan: what would be done, as versioned data with a digest."""
