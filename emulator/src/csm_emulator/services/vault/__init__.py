"""Vault: secrets, and the tokens that open them. Only ``site.open_faces`` imports it."""
