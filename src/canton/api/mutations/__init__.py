"""Carries out changes: each is decided by policy, has a reason, is approved if needed, done once, and recorded."""
