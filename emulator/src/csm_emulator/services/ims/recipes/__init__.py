"""Recipe records and their archives in S3."""
