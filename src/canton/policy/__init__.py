"""WHO MAY: permissions, roles, bindings, the one decision and the list filter that agrees with it.

Pure functions over frozen values: no store, no clock, no tokens. Imports the domain only; the API asks here before
anything is read or changed for a caller, and nowhere else is anything allowed or refused.
"""
