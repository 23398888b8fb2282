"""Firmware actions and their operations."""
