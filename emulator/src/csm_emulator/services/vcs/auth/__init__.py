"""Accounts, owners, and who may use a repository."""
