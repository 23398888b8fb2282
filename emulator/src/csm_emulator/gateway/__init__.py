"""What stands before the services: OPA's rules, the checks of tokens, and which prefix belongs to which service.

``policy`` and ``rules`` are pure; ``tokens`` says whose token it is; ``gateway`` puts both before the faces. Sources:
cray-opa 1.34 (kubernetes/cray-opa/templates/policies) as the gateway of the node management network loads it, that is
with the policies keycloak-admin, keycloak-user, keycloak-system and spire.
"""
