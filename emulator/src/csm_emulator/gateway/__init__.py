"""The API gateway: OPA's rules, the verification of tokens, and the prefixes of services.

``policy`` and ``rules`` are pure; ``tokens`` verifies tokens; ``gateway`` applies both before the services. Source:
cray-opa 1.34 (kubernetes/cray-opa/templates/policies) as the gateway of the node management network loads it, that is
with the policies keycloak-admin, keycloak-user, keycloak-system and spire.
"""
