"""The mounts of secret engines: ``sys/mounts``, and the paths by which the command line and hvac find mounts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.vault.request_ids import RequestIds
from csm_emulator.services.vault.responses import Refusal, envelope, no_content, read, text
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

KV, TRANSIT = "kv", "transit"


class Mount(TypedDict):
    type: str
    description: str
    options: Mapping[str, str] | None


VERSION_2 = {"version": "2"}
_SEED: dict[str, Mount] = {
    "secret": {"type": KV, "description": "", "options": VERSION_2},
    "manta": {"type": KV, "description": "what manta needs, by site", "options": VERSION_2},
    "transit": {"type": TRANSIT, "description": "", "options": None},
}
_RESERVED = frozenset({"sys", "auth", "identity", "cubbyhole"})


class Mounts:
    def __init__(self, context: Context, requests: RequestIds) -> None:
        self._random = context.random
        self._requests = requests
        self._table = context.tables.open("vault.mounts", _SEED)
        self.on_removal: list[Callable[[str], None]] = []
        """Called with the name of each mount that is removed."""

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

    def find(self, path: str) -> tuple[str, Mount, str] | None:
        """The name and record of the mount that a path belongs to, and the rest of the path."""
        matches = [name for name in self._table if path == name or path.startswith(f"{name}/")]
        if not matches:
            return None
        name = max(matches, key=len)
        return name, self._table[name], path[len(name) + 1 :]

    def all(self, _: Call) -> Reply:
        mounts = {f"{name}/": self._view(name) for name in self._table}
        return envelope(self._requests.next(), mounts, **mounts)

    def one(self, call: Call) -> Reply:
        name = call.args["path"].strip("/")
        if name not in self._table:
            raise Refusal(400, f"No secret engine mount at {name}/")
        mount = self._view(name)
        return envelope(self._requests.next(), mount, **mount)

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
        description = text(body, "description")
        self._table[name] = {"type": kind, "description": description, "options": VERSION_2 if kind == KV else None}
        return no_content()

    def _check_free(self, name: str) -> None:
        if not name or name.split("/", maxsplit=1)[0] in _RESERVED:
            raise Refusal(400, f'cannot mount "{name}/"')
        for mount in self._table:
            if f"{name}/".startswith(f"{mount}/") or f"{mount}/".startswith(f"{name}/"):
                raise Refusal(400, f"path is already in use at {mount}/")

    def delete(self, call: Call) -> Reply:
        """Removing an unknown mount is no error."""
        name = call.args["path"].strip("/")
        if self._table.pop(name, None) is not None:
            for on_removal in self.on_removal:
                on_removal(name)
        return no_content()

    def for_users(self, _: Call) -> Reply:
        mounts = {f"{name}/": self._view(name) for name in self._table}
        return envelope(self._requests.next(), {"auth": {}, "secret": mounts})

    def for_a_user(self, call: Call) -> Reply:
        """The mount of a path: clients read the version of the key-value engine here."""
        match = self.find(call.args["path"].strip("/"))
        if match is None:
            path = call.args["path"].strip("/")
            raise Refusal(
                403,
                "preflight capability check returned 403, please ensure client's policies grant access to path "
                f'"{path}/"',
            )
        return envelope(self._requests.next(), {**self._view(match[0]), "path": f"{match[0]}/"})

    def _view(self, name: str) -> Json:
        record = self._table[name]
        return {
            "accessor": f"{record['type']}_{self._random.hex(8, 'vault.mount', name)}",
            "config": {"default_lease_ttl": 0, "force_no_cache": False, "max_lease_ttl": 0},
            "description": record["description"],
            "external_entropy_access": False,
            "local": False,
            "options": record["options"],
            "plugin_version": "",
            "running_plugin_version": "",
            "running_sha256": "",
            "seal_wrap": False,
            "type": record["type"],
            "uuid": self._random.uuid("vault.mount", name),
        }
