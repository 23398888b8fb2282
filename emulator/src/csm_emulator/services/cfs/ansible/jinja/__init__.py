"""Expressions and templates of playbooks."""
