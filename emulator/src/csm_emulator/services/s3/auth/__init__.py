"""Who asks S3, and what that caller may do."""
