"""JSON as Go's ``encoding/json`` reads it, with its error texts."""
