"""STS: credentials for S3 that live for an hour, for whoever has a token of the gateway."""
