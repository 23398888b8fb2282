"""Queries about access: tenants, bindings, approvals, quotas, service accounts."""
