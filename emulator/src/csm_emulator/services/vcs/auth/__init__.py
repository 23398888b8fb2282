"""Accounts, owners, and access to repositories."""
