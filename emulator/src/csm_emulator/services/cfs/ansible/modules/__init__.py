"""Ansible's modules, and the results that they report for a host."""
