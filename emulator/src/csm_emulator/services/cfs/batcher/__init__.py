"""The batcher: makes sessions for components that wait for their configuration."""
