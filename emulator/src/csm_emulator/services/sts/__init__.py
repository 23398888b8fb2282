"""STS: credentials for S3 that are valid for an hour, for every client with a token of the gateway."""
