"""Repositories in git's own format, and git over HTTP."""
