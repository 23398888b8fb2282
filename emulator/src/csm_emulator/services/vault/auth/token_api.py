"""``auth/token``."""

from __future__ import annotations

from csm_emulator.services.vault.auth.policies import DEFAULT, ROOT
from csm_emulator.services.vault.auth.tokens import Tokens, TokenSpecification
from csm_emulator.services.vault.request_ids import RequestIds
from csm_emulator.services.vault.responses import Refusal, envelope, no_content, read, seconds, text
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_CREATE = "auth/token/create"


class TokenApi:
    def __init__(self, tokens: Tokens, requests: RequestIds) -> None:
        self._tokens = tokens
        self._requests = requests

    def routes(self) -> list[Route]:
        paths = {
            "create": self.create,
            "lookup": self.lookup,
            "renew": self.renew,
            "revoke": self.revoke,
            "renew-self": self.renew_self,
            "revoke-self": self.revoke_self,
        }
        write_routes = [
            Route(method, f"/v1/auth/token/{name}", handler)
            for name, handler in paths.items()
            for method in ("POST", "PUT")
        ]
        return [*write_routes, Route("GET", "/v1/auth/token/lookup-self", self.lookup_self)]

    def create(self, call: Call) -> Reply:
        """A child token has at most its parent's policies, unless the parent is the root token."""
        body = read(call)
        own = self._tokens.policies(self._tokens.of(call)) or []
        requested = body.get("policies")
        if requested is not None and not (
            isinstance(requested, list) and all(isinstance(name, str) for name in requested)
        ):
            raise Refusal(400, "error converting input for field 'policies'")
        policies = tuple(requested if requested is not None else own)
        if ROOT not in own and not set(policies) <= {*own, DEFAULT}:
            raise Refusal(400, "child policies must be subset of parent")
        auth = self._tokens.create(
            TokenSpecification(
                policies,
                seconds(body.get("ttl") or 0),
                _CREATE,
                f"token-{text(body, 'display_name')}".rstrip("-"),
                renewable=body.get("renewable") is not False,
                orphan=False,
            )
        )
        return envelope(self._requests.next(), auth=auth)

    def lookup_self(self, call: Call) -> Reply:
        return envelope(self._requests.next(), self._tokens.lookup(self._tokens.of(call)))

    def lookup(self, call: Call) -> Reply:
        return envelope(self._requests.next(), self._tokens.lookup(_token_in_body(call)))

    def renew_self(self, call: Call) -> Reply:
        return self._renew(call, self._tokens.of(call))

    def renew(self, call: Call) -> Reply:
        return self._renew(call, _token_in_body(call))

    def revoke_self(self, call: Call) -> Reply:
        self._tokens.revoke(self._tokens.of(call))
        return no_content()

    def revoke(self, call: Call) -> Reply:
        self._tokens.revoke(_token_in_body(call))
        return no_content()

    def _renew(self, call: Call, token: str) -> Reply:
        increment = seconds(read(call).get("increment") or 0)
        return envelope(self._requests.next(), auth=self._tokens.renew(token, increment))


def _token_in_body(call: Call) -> str:
    token = text(read(call), "token")
    if not token:
        raise Refusal(400, "missing token ID")
    return token
