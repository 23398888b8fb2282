"""auth/token/…"""

from __future__ import annotations

from csm_emulator.services.vault.auth.policies import DEFAULT, ROOT
from csm_emulator.services.vault.auth.tokens import Tokens, Wanted
from csm_emulator.services.vault.request_ids import Requests
from csm_emulator.services.vault.responses import Refusal, enveloped, nothing, read, seconds, text
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_CREATE = "auth/token/create"


class TokenApi:
    def __init__(self, tokens: Tokens, requests: Requests) -> None:
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
        written = [
            Route(method, f"/v1/auth/token/{name}", handler)
            for name, handler in paths.items()
            for method in ("POST", "PUT")
        ]
        return [*written, Route("GET", "/v1/auth/token/lookup-self", self.lookup_self)]

    def create(self, call: Call) -> Reply:
        """A child has at most the policies of the one that made it, unless that is root's."""
        body = read(call)
        own = self._tokens.policies(self._tokens.of(call)) or []
        asked = body.get("policies")
        if asked is not None and not (isinstance(asked, list) and all(isinstance(each, str) for each in asked)):
            raise Refusal(400, "error converting input for field 'policies'")
        wanted = tuple(asked if asked is not None else own)
        if ROOT not in own and not set(wanted) <= {*own, DEFAULT}:
            raise Refusal(400, "child policies must be subset of parent")
        auth = self._tokens.create(
            Wanted(
                wanted,
                seconds(body.get("ttl") or 0),
                _CREATE,
                f"token-{text(body, 'display_name')}".rstrip("-"),
                renewable=body.get("renewable") is not False,
                orphan=False,
            )
        )
        return enveloped(self._requests.next(), auth=auth)

    def lookup_self(self, call: Call) -> Reply:
        return enveloped(self._requests.next(), self._tokens.shown(self._tokens.of(call)))

    def lookup(self, call: Call) -> Reply:
        return enveloped(self._requests.next(), self._tokens.shown(_named(call)))

    def renew_self(self, call: Call) -> Reply:
        return self._renewed(call, self._tokens.of(call))

    def renew(self, call: Call) -> Reply:
        return self._renewed(call, _named(call))

    def revoke_self(self, call: Call) -> Reply:
        self._tokens.revoke(self._tokens.of(call))
        return nothing()

    def revoke(self, call: Call) -> Reply:
        self._tokens.revoke(_named(call))
        return nothing()

    def _renewed(self, call: Call, token: str) -> Reply:
        increment = seconds(read(call).get("increment") or 0)
        return enveloped(self._requests.next(), auth=self._tokens.renew(token, increment))


def _named(call: Call) -> str:
    token = text(read(call), "token")
    if not token:
        raise Refusal(400, "missing token ID")
    return token
