"""Gitea's REST API."""
