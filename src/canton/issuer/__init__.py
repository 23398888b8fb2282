"""AN ISSUER FOR LAPTOPS: enough OpenID Connect to log in without a Keycloak. For demos and development only.

An ASGI application of its own, mounted beside the API and off unless configured. It shares nothing with the rest:
tokens reach the API as those of any other issuer do, and are verified like them. It imports the domain's errors and
no other part of Canton.
"""
