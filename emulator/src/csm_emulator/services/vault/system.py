"""Whether Vault is open, its policies, and what a token may do."""

from __future__ import annotations

from dataclasses import replace

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.vault.auth.logins import JWT, KUBERNETES, OF_MANTA
from csm_emulator.services.vault.auth.policies import Policies
from csm_emulator.services.vault.auth.tokens import Tokens
from csm_emulator.services.vault.request_ids import Requests
from csm_emulator.services.vault.responses import Refusal, enveloped, nothing, read, text
from csm_emulator.services.vault.seed_data import sites
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

VERSION = "1.15.6"


class System:
    def __init__(self, context: Context, policies: Policies, tokens: Tokens, requests: Requests) -> None:
        self._context = context
        self._policies = policies
        self._tokens = tokens
        self._requests = requests

    def open_routes(self) -> list[Route]:
        """Without a token."""
        return [
            Route("GET", "/v1/sys/health", self.health),
            Route("HEAD", "/v1/sys/health", lambda call: replace(self.health(call), body=b"")),
            Route("GET", "/v1/sys/seal-status", self.seal_status),
            Route("GET", "/v1/sys/init", lambda _: json_reply({"initialized": True})),
            Route("GET", "/v1/sys/leader", self.leader),
        ]

    def routes(self) -> list[Route]:
        routes = [Route("GET", "/v1/sys/auth", self.auth)]
        routes += [
            Route(method, f"/v1/sys/{name}", self.capabilities)
            for name in ("capabilities", "capabilities-self")
            for method in ("POST", "PUT")
        ]
        for place in ("/v1/sys/policy", "/v1/sys/policies/acl"):
            routes += [Route(method, place, self.policies) for method in ("GET", "LIST")]
            routes += [Route(method, f"{place}/{{name}}", self.set_policy) for method in ("POST", "PUT")]
            routes.append(Route("GET", f"{place}/{{name}}", self.policy))
            routes.append(Route("DELETE", f"{place}/{{name}}", self.delete_policy))
        return routes

    def health(self, _: Call) -> Reply:
        return json_reply(
            {
                "initialized": True,
                "sealed": False,
                "standby": False,
                "performance_standby": False,
                "replication_performance_mode": "disabled",
                "replication_dr_mode": "disabled",
                "server_time_utc": int(self._context.clock.now()),
                "version": VERSION,
                **self._cluster(),
            }
        )

    def seal_status(self, _: Call) -> Reply:
        return json_reply(
            {
                "type": "shamir",
                "initialized": True,
                "sealed": False,
                "t": 3,
                "n": 5,
                "progress": 0,
                "nonce": "",
                "version": VERSION,
                "build_date": "2024-02-28T17:07:34Z",
                "migration": False,
                **self._cluster(),
                "recovery_seal": False,
                "storage_type": "raft",
            }
        )

    def leader(self, _: Call) -> Reply:
        address = self._context.public_addresses.addresses.get("vault", "")
        return json_reply({"ha_enabled": True, "is_self": True, "leader_address": address})

    def _cluster(self) -> Json:
        return {"cluster_name": "cray-vault", "cluster_id": self._context.random.uuid("vault.cluster")}

    def auth(self, _: Call) -> Reply:
        kinds = {"token": "token", JWT: "jwt", KUBERNETES: "kubernetes"}
        kinds |= {OF_MANTA + site: "jwt" for site in sites(self._context.machine.topology.name)}
        shown = {f"{name}/": self._mount(name, kind) for name, kind in kinds.items()}
        return enveloped(self._requests.next(), shown, **shown)

    def _mount(self, name: str, kind: str) -> Json:
        return {
            "accessor": f"auth_{kind}_{self._context.random.hex(8, 'vault.auth', name)}",
            "config": {
                "default_lease_ttl": 0,
                "force_no_cache": False,
                "max_lease_ttl": 0,
                "token_type": "default-service",
            },
            "description": "",
            "local": False,
            "options": None,
            "seal_wrap": False,
            "type": kind,
            "uuid": self._context.random.uuid("vault.auth", name),
        }

    def policies(self, _: Call) -> Reply:
        names = self._policies.names()
        return enveloped(self._requests.next(), {"keys": names, "policies": names}, keys=names, policies=names)

    def policy(self, call: Call) -> Reply:
        name = call.args["name"]
        found = self._policies.get(name)
        if found is None:
            raise Refusal(404)
        shown = {"name": name, "rules": found, "policy": found}
        return enveloped(self._requests.next(), shown, name=name, rules=found)

    def set_policy(self, call: Call) -> Reply:
        body = read(call)
        said = text(body, "policy") or text(body, "rules")
        if not said:
            raise Refusal(400, "'policy' parameter not supplied or empty")
        self._policies.put(call.args["name"], said)
        return nothing()

    def delete_policy(self, call: Call) -> Reply:
        self._policies.delete(call.args["name"])
        return nothing()

    def capabilities(self, call: Call) -> Reply:
        body = read(call)
        token = self._tokens.of(call) if call.path.endswith("-self") else text(body, "token")
        held = self._tokens.policies(token)
        if held is None:
            raise Refusal(400, "invalid token")
        paths = body.get("paths") or body.get("path") or []
        asked = [paths] if isinstance(paths, str) else paths
        if not asked or not all(isinstance(path, str) for path in asked):
            raise Refusal(400, "paths must be supplied")
        found: Json = {path: self._policies.capabilities(held, path) for path in asked}
        if len(asked) == 1:
            found["capabilities"] = found[asked[0]]
        return enveloped(self._requests.next(), found, **found)
