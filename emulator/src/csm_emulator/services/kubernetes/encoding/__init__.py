"""Bodies that are not JSON: YAML and protobuf."""
