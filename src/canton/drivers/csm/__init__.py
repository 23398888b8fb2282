"""HPE's Cray System Management, from outside: through its gateway, with a token of its Keycloak."""
