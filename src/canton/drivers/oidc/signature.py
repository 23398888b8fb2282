"""Whether an issuer's key made a token's signature. joserfc does the mathematics."""

from __future__ import annotations

from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jws import JWSRegistry, deserialize_compact

from canton.domain.errors import TokenInvalid
from canton.drivers.oidc import token as tokens
from canton.drivers.oidc.jwks import Key


class Algorithms(JWSRegistry):
    """The algorithms that Canton takes, by the names that issuers write into tokens."""

    # A token's size is limited as a whole, before it is read; joserfc's own limit of 512 bytes refuses honest headers.
    max_header_length = tokens.MAX_LENGTH
    max_signature_length = tokens.MAX_LENGTH

    def get_alg(self, name: str) -> JWSAlgModel:
        # RFC 9864 renamed EdDSA with curve Ed25519 to "Ed25519". Issuers write the old name, of which joserfc warns.
        return super().get_alg("Ed25519" if name == "EdDSA" else name)


_ALGORITHMS = Algorithms(algorithms=("RS256", "ES256", "Ed25519"), strict_check_header=False)


def check_signature(token: tokens.UnverifiedToken, key: Key) -> None:
    """Raise ``TokenInvalid`` unless ``key`` signed the token."""
    try:
        deserialize_compact(token.text, key, registry=_ALGORITHMS)
    except (JoseError, ValueError):
        # Not chained: a library's message may quote what it could not read.
        raise TokenInvalid("the token's signature is wrong; log in again") from None
