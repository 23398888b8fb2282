"""Authentication and permissions of S3 callers."""
