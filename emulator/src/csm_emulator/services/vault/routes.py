"""The routes of Vault, with the check of tokens and policies before each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.records import Record
from csm_emulator.services.vault.auth.logins import Logins
from csm_emulator.services.vault.auth.policies import Policies
from csm_emulator.services.vault.auth.token_api import TokenApi
from csm_emulator.services.vault.auth.tokens import Tokens
from csm_emulator.services.vault.kv.api import KvApi
from csm_emulator.services.vault.kv.store import Secrets
from csm_emulator.services.vault.mounts import KV, Mounts
from csm_emulator.services.vault.request_ids import RequestIds
from csm_emulator.services.vault.responses import Refusal, error_reply
from csm_emulator.services.vault.seed_data import manta_default, secrets, sources
from csm_emulator.services.vault.system import System
from csm_emulator.services.vault.transit import Transit
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route, catching

MAX_BODY = 32 << 20
"""Vault's ``max_request_size``."""
_REQUIRED_CAPABILITIES = {
    "GET": {"read"},
    "LIST": {"list"},
    "POST": {"create", "update"},
    "PUT": {"create", "update"},
    "PATCH": {"patch"},
    "DELETE": {"delete"},
}
_DENIED = "1 error occurred:\n\t* permission denied\n\n"


def create_service(context: Context) -> EmulatedService:
    requests, policies, tokens = RequestIds(context.random), Policies(context.tables), Tokens(context)
    mounts = Mounts(context, requests)
    table = context.tables.open("vault.secrets", secrets(context))
    settings: RecordTable[Record] = context.tables.open("vault.kv")
    secret_store = Secrets(table, settings, sources(context.public_addresses), manta_default)
    transit = Transit(context, requests)
    mounts.on_removal += [secret_store.forget_all, transit.forget_all]
    logins, system = Logins(context, tokens, requests), System(context, policies, tokens, requests)
    engines = Engines(mounts, KvApi(secret_store, context.clock, requests), transit)
    policy_check = PolicyCheck(tokens, policies)
    protected = [
        *TokenApi(tokens, requests).routes(),
        *logins.role_routes(),
        *mounts.routes(),
        *system.routes(),
        *(Route(method, "/v1/{path...}", engines.answer) for method in _REQUIRED_CAPABILITIES),
    ]
    routes = [*system.open_routes(), *logins.routes(), *(route.through(policy_check.protect) for route in protected)]
    with_errors = [route.through(_with_errors) for route in routes]
    return EmulatedService(
        "vault",
        [],
        with_errors,
        not_found=_not_found,
        wrong_method=_wrong_method,
        body_limit=MAX_BODY,
        has_own_listener=True,
    )


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    tokens: Tokens
    policies: Policies

    def protect(self, handler: Handler) -> Handler:
        """The handler behind a check: the token is valid, and one of its policies allows the request."""

        def answer(call: Call) -> Reply:
            policy_names = self.tokens.policies(self.tokens.of(call)) or []
            path = call.path.removeprefix("/v1/")
            if _REQUIRED_CAPABILITIES[_method(call)].isdisjoint(self.policies.capabilities(policy_names, path)):
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
        match = self.mounts.find(path)
        if match is None:
            raise Refusal(404, f'no handler for route "{path}". route entry not found.')
        name, mount, inner = match
        engine = self.kv.answer if mount["type"] == KV else self.transit.answer
        return engine(call, _method(call), name, inner)


def _method(call: Call) -> str:
    """The method. Clients without LIST send GET with ``list=true``."""
    return "LIST" if call.method == "GET" and call.first("list") in ("1", "true") else call.method


def _with_errors(handler: Handler) -> Handler:
    return catching(handler, Refusal, lambda _, refusal: error_reply(refusal))


def _not_found(call: Call) -> Reply:
    return error_reply(Refusal(404) if call.path.startswith("/v1") else Refusal(404, "404 page not found"))


def _wrong_method(_: Call, allowed: Sequence[str]) -> Reply:  # noqa: ARG001 (the shape of every such function)
    return error_reply(Refusal(405, "unsupported operation"))
