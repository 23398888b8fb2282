"""Bearer tokens of OpenID Connect issuers: verified here, with the issuer's published keys, on every request.

``verify`` is the door; ``token`` and ``claims`` are its pure checks, ``mapping`` turns claims into bindings and
``keyring`` keeps the keys that ``jwks`` reads and ``fetch`` brings. Nothing here decides what somebody may do.
"""
