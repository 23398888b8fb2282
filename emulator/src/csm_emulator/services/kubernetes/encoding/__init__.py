"""Request bodies that are not JSON: YAML and protobuf."""
