"""``sys``: health and seal, auth mounts, policies, and the capabilities of tokens."""

from __future__ import annotations

from dataclasses import replace

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.vault.auth.logins import JWT, KUBERNETES, MANTA_PREFIX
from csm_emulator.services.vault.auth.policies import Policies
from csm_emulator.services.vault.auth.tokens import Tokens
from csm_emulator.services.vault.request_ids import RequestIds
from csm_emulator.services.vault.responses import Refusal, envelope, no_content, read, text
from csm_emulator.services.vault.seed_data import sites
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

VERSION = "1.15.6"


class System:
    def __init__(self, context: Context, policies: Policies, tokens: Tokens, requests: RequestIds) -> None:
        self._context = context
        self._policies = policies
        self._tokens = tokens
        self._requests = requests

    def open_routes(self) -> list[Route]:
        """Routes that need no token."""
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
        for path in ("/v1/sys/policy", "/v1/sys/policies/acl"):
            routes += [Route(method, path, self.policies) for method in ("GET", "LIST")]
            routes += [Route(method, f"{path}/{{name}}", self.set_policy) for method in ("POST", "PUT")]
            routes.append(Route("GET", f"{path}/{{name}}", self.policy))
            routes.append(Route("DELETE", f"{path}/{{name}}", self.delete_policy))
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
        kinds |= {MANTA_PREFIX + site: "jwt" for site in sites(self._context.machine.topology.name)}
        mounts = {f"{name}/": self._mount(name, kind) for name, kind in kinds.items()}
        return envelope(self._requests.next(), mounts, **mounts)

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
        return envelope(self._requests.next(), {"keys": names, "policies": names}, keys=names, policies=names)

    def policy(self, call: Call) -> Reply:
        name = call.args["name"]
        rules = self._policies.get(name)
        if rules is None:
            raise Refusal(404)
        view = {"name": name, "rules": rules, "policy": rules}
        return envelope(self._requests.next(), view, name=name, rules=rules)

    def set_policy(self, call: Call) -> Reply:
        body = read(call)
        rules = text(body, "policy") or text(body, "rules")
        if not rules:
            raise Refusal(400, "'policy' parameter not supplied or empty")
        self._policies.put(call.args["name"], rules)
        return no_content()

    def delete_policy(self, call: Call) -> Reply:
        self._policies.delete(call.args["name"])
        return no_content()

    def capabilities(self, call: Call) -> Reply:
        body = read(call)
        token = self._tokens.of(call) if call.path.endswith("-self") else text(body, "token")
        policy_names = self._tokens.policies(token)
        if policy_names is None:
            raise Refusal(400, "invalid token")
        paths = body.get("paths") or body.get("path") or []
        requested = [paths] if isinstance(paths, str) else paths
        if not requested or not all(isinstance(path, str) for path in requested):
            raise Refusal(400, "paths must be supplied")
        capabilities: Json = {path: self._policies.capabilities(policy_names, path) for path in requested}
        if len(requested) == 1:
            capabilities["capabilities"] = capabilities[requested[0]]
        return envelope(self._requests.next(), capabilities, **capabilities)
