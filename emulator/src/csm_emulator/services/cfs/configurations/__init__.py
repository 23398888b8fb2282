"""Configurations: lists of layers, each a playbook at a commit."""
