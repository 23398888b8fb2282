"""Firmware images, and how they get into the service."""
