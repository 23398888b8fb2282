"""Renders answers and errors: JSON, pages of lists, problems, the OpenAPI description. Does not read the store."""
