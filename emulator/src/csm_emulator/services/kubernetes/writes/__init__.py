"""Writing: create, update, patch and delete, with validation and admission."""
