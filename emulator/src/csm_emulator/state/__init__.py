"""What survives a restart: tables, the scheduler, the clock, blobs, the log, and the file that holds them."""
