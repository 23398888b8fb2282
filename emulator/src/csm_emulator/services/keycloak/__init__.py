"""Keycloak's realm ``shasta``: who may log in, tokens and the keys that sign them; and of its administration what TAPMS
and an administrator of tenants need: groups, their roles, and who is in them.

Facts are those of Keycloak 26.7.3, asked with a realm shaped like CSM's. Nothing here decides what a token is good for:
that is the gateway's. No authorization code flow, and nobody makes users: they come with the machine. Of the realm
``master`` there is only how one logs in to it.
"""
