"""The driver for HPE's Cray System Management: calls through its gateway, with a token of its Keycloak."""
