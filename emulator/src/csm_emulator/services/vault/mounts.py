"""Which engines stand where: sys/mounts, and what the command line and hvac ask of them."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.vault.request_ids import Requests
from csm_emulator.services.vault.responses import Refusal, enveloped, nothing, read, text
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

KV, TRANSIT = "kv", "transit"
VERSION_2 = {"version": "2"}
_SEED = {
    "secret": {"type": KV, "description": "", "options": VERSION_2},
    "manta": {"type": KV, "description": "what manta needs, by site", "options": VERSION_2},
    "transit": {"type": TRANSIT, "description": "", "options": None},
}
_OWN = frozenset({"sys", "auth", "identity", "cubbyhole"})


class Mounts:
    def __init__(self, context: Context, requests: Requests) -> None:
        self._random = context.random
        self._requests = requests
        self._table = context.tables.open("vault.mounts", _SEED)
        self.on_removal: list[Callable[[str], None]] = []
        """Called with the name of a mount that goes."""

    def routes(self) -> list[Route]:
        one = "/v1/sys/mounts/{path...}"
        return [
            Route("GET", "/v1/sys/mounts", self.all),
            Route("GET", one, self.one),
            Route("POST", one, self.create),
            Route("PUT", one, self.create),
            Route("DELETE", one, self.delete),
            Route("GET", "/v1/sys/internal/ui/mounts", self.for_users),
            Route("GET", "/v1/sys/internal/ui/mounts/{path...}", self.for_a_user),
        ]

    def find(self, path: str) -> tuple[str, Json, str] | None:
        """The mount that a path belongs to, and what of the path is the engine's."""
        fitting = [name for name in self._table if path == name or path.startswith(f"{name}/")]
        if not fitting:
            return None
        name = max(fitting, key=len)
        return name, self._table[name], path[len(name) + 1 :]

    def all(self, _: Call) -> Reply:
        shown = {f"{name}/": self._shown(name) for name in self._table}
        return enveloped(self._requests.next(), shown, **shown)

    def one(self, call: Call) -> Reply:
        name = call.args["path"].strip("/")
        if name not in self._table:
            raise Refusal(400, f"No secret engine mount at {name}/")
        shown = self._shown(name)
        return enveloped(self._requests.next(), shown, **shown)

    def create(self, call: Call) -> Reply:
        name, body = call.args["path"].strip("/"), read(call)
        kind, options = text(body, "type"), body.get("options")
        if not kind:
            raise Refusal(400, "backend type must be specified as a string")
        version = options.get("version") if isinstance(options, dict) else None
        if kind == "kv-v2":
            kind, version = KV, "2"
        if kind not in (KV, TRANSIT):
            raise Refusal(400, f"plugin not found in the catalog: {kind}")
        if kind == KV and str(version) != "2":
            raise Refusal(501, "this Vault has version 2 of kv only")
        self._check_free(name)
        described = text(body, "description")
        self._table[name] = {"type": kind, "description": described, "options": VERSION_2 if kind == KV else None}
        return nothing()

    def _check_free(self, name: str) -> None:
        if not name or name.split("/", maxsplit=1)[0] in _OWN:
            raise Refusal(400, f'cannot mount "{name}/"')
        for other in self._table:
            if f"{name}/".startswith(f"{other}/") or f"{other}/".startswith(f"{name}/"):
                raise Refusal(400, f"path is already in use at {other}/")

    def delete(self, call: Call) -> Reply:
        """What is not there is no error."""
        name = call.args["path"].strip("/")
        if self._table.pop(name, None) is not None:
            for removed in self.on_removal:
                removed(name)
        return nothing()

    def for_users(self, _: Call) -> Reply:
        shown = {f"{name}/": self._shown(name) for name in self._table}
        return enveloped(self._requests.next(), {"auth": {}, "secret": shown})

    def for_a_user(self, call: Call) -> Reply:
        """How a client learns which version of kv it speaks to."""
        found = self.find(call.args["path"].strip("/"))
        if found is None:
            path = call.args["path"].strip("/")
            raise Refusal(
                403,
                "preflight capability check returned 403, please ensure client's policies grant access to path "
                f'"{path}/"',
            )
        return enveloped(self._requests.next(), {**self._shown(found[0]), "path": f"{found[0]}/"})

    def _shown(self, name: str) -> Json:
        kept = self._table[name]
        return {
            "accessor": f"{kept['type']}_{self._random.hex(8, 'vault.mount', name)}",
            "config": {"default_lease_ttl": 0, "force_no_cache": False, "max_lease_ttl": 0},
            "description": kept["description"],
            "external_entropy_access": False,
            "local": False,
            "options": kept["options"],
            "plugin_version": "",
            "running_plugin_version": "",
            "running_sha256": "",
            "seal_wrap": False,
            "type": kept["type"],
            "uuid": self._random.uuid("vault.mount", name),
        }
