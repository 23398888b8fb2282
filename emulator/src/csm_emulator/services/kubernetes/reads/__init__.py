"""Reading: get, list, watch, tables, discovery, OpenAPI."""
