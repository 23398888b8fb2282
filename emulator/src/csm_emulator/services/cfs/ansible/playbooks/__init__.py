"""Parsing playbooks from the text of their files."""
