"""All of Vault, on its paths: who asks, whether they may, and which engine answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.services.vault.auth.logins import Logins
from csm_emulator.services.vault.auth.policies import Policies
from csm_emulator.services.vault.auth.token_api import TokenApi
from csm_emulator.services.vault.auth.tokens import Tokens
from csm_emulator.services.vault.kv.api import KvApi
from csm_emulator.services.vault.kv.store import Secrets
from csm_emulator.services.vault.mounts import KV, Mounts
from csm_emulator.services.vault.request_ids import Requests
from csm_emulator.services.vault.responses import Refusal, refused
from csm_emulator.services.vault.seed_data import secrets, sources, stand_in
from csm_emulator.services.vault.system import System
from csm_emulator.services.vault.transit import Transit
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route, catching

BODY = 32 << 20
"""max_request_size."""
_NEEDED = {
    "GET": {"read"},
    "LIST": {"list"},
    "POST": {"create", "update"},
    "PUT": {"create", "update"},
    "PATCH": {"patch"},
    "DELETE": {"delete"},
}
_DENIED = "1 error occurred:\n\t* permission denied\n\n"


def create_service(context: Context) -> EmulatedService:
    requests, policies, tokens = Requests(context.random), Policies(context.tables), Tokens(context)
    mounts = Mounts(context, requests)
    table, settings = context.tables.open("vault.secrets", secrets(context)), context.tables.open("vault.kv")
    kept = Secrets(table, settings, sources(context.public_addresses), stand_in)
    transit = Transit(context, requests)
    mounts.on_removal += [kept.forget_all, transit.forget_all]
    logins, system = Logins(context, tokens, requests), System(context, policies, tokens, requests)
    engines = Engines(mounts, KvApi(kept, context.clock, requests), transit)
    guard = Guard(tokens, policies)
    guarded = [
        *TokenApi(tokens, requests).routes(),
        *logins.role_routes(),
        *mounts.routes(),
        *system.routes(),
        *(Route(method, "/v1/{path...}", engines.answer) for method in _NEEDED),
    ]
    routes = [*system.open_routes(), *logins.routes(), *(route.through(guard.over) for route in guarded)]
    answering = [route.through(_answering) for route in routes]
    return EmulatedService(
        "vault", [], answering, not_found=_not_found, wrong_method=_wrong_method, body_limit=BODY, has_own_listener=True
    )


@dataclass(frozen=True, slots=True)
class Guard:
    tokens: Tokens
    policies: Policies

    def over(self, handler: Handler) -> Handler:
        """A token that counts, and a policy that lets it."""

        def answer(call: Call) -> Reply:
            held = self.tokens.policies(self.tokens.of(call)) or []
            path = call.path.removeprefix("/v1/")
            if _NEEDED[_method(call)].isdisjoint(self.policies.capabilities(held, path)):
                raise Refusal(403, _DENIED)
            return handler(call)

        return answer


@dataclass(frozen=True, slots=True)
class Engines:
    mounts: Mounts
    kv: KvApi
    transit: Transit

    def answer(self, call: Call) -> Reply:
        path = call.args["path"]
        found = self.mounts.find(path)
        if found is None:
            raise Refusal(404, f'no handler for route "{path}". route entry not found.')
        name, mount, inner = found
        engine = self.kv.answer if mount["type"] == KV else self.transit.answer
        return engine(call, _method(call), name, inner)


def _method(call: Call) -> str:
    """Clients that have no LIST say so in the query."""
    return "LIST" if call.method == "GET" and call.first("list") in ("1", "true") else call.method


def _answering(handler: Handler) -> Handler:
    return catching(handler, Refusal, lambda _, refusal: refused(refusal))


def _not_found(call: Call) -> Reply:
    return refused(Refusal(404) if call.path.startswith("/v1") else Refusal(404, "404 page not found"))


def _wrong_method(_: Call, allowed: Sequence[str]) -> Reply:  # noqa: ARG001 (the shape of every such function)
    return refused(Refusal(405, "unsupported operation"))
