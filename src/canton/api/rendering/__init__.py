"""How answers and errors are written: JSON, pages of lists, problems, the OpenAPI description. Reads no store."""
