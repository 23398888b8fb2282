"""Bearer tokens of OpenID Connect issuers: verified here, with the issuer's published keys, on every request.

``verify`` is the entry point. ``token``, ``signature`` and ``claims`` check a token, and ``mapping`` turns claims into
bindings. ``keyring`` holds the keys that ``fetch`` downloads and ``jwks`` reads. Nothing here decides what a caller may
do.
"""
