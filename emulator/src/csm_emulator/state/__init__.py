"""State that survives a restart: record tables, the scheduler, the clock, blobs, the log, and their file."""
