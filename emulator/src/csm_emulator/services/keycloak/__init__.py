"""Keycloak's realm ``shasta``: its users, its tokens and the keys that sign them. Of Keycloak's administration API it
has what TAPMS and the administrators of tenants need: groups, their roles and members.

The behaviour is that of Keycloak 26.7.3 with a realm like CSM's. What a token allows is decided in the gateway, not
here. There is no authorization code flow, and users cannot be created: they come with the machine. The realm ``master``
has only the login of its administrator.
"""
