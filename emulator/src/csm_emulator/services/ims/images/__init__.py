"""Image records and their files in S3."""
