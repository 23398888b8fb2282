"""Vault: the secret engines, and the tokens and policies that give access to them."""
