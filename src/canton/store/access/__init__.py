"""Queries about who may what: tenants, bindings, approvals, quotas, service accounts."""
