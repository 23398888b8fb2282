"""Configurations: layers of playbooks at a commit."""
