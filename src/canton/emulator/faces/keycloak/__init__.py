"""Keycloak's realm ``shasta``: who may log in, tokens and the keys that sign them.

Facts are those of Keycloak 26.7.3, asked with a realm shaped like CSM's. Nothing here decides what a token is good for:
that is the gateway's. No authorization code flow and no administration: users come with the machine.
"""
