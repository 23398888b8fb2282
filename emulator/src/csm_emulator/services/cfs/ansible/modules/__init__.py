"""Ansible's modules, and what each reports of a host."""
