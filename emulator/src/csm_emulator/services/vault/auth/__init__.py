"""Logins, tokens and policies."""
