"""Playbooks from the text of their files."""
