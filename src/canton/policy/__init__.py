"""Authorisation: permissions, roles, bindings, the one decision and the list filter that agrees with it.

Pure functions over frozen values: no store, no clock, no tokens. Imports the domain only. The API calls it before it
reads or changes anything for a caller, and no other code allows or refuses.
"""
