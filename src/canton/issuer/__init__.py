"""AN ISSUER FOR LAPTOPS: enough OpenID Connect to log in without a Keycloak. For demos and development only.

An ASGI application of its own, mounted beside the API and off unless configured. It shares nothing with the rest:
the API verifies its tokens like those of any other issuer. It imports the domain's errors and
no other part of Canton.
"""
