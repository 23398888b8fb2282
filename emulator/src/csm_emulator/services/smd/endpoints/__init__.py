"""Redfish endpoints, their components and services."""
