"""Discovery: version, health, API groups, resources."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.transport.call import Call, Reply, json_reply, text_reply

VERSION = "v1.32.5"
"""The Kubernetes version of CSM 1.7."""
_OTHER_KINDS: dict[str, Json] = {
    "scale": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction"},
    "exec": {"kind": "PodExecOptions"},
    "attach": {"kind": "PodAttachOptions"},
}
_SUBRESOURCE_VERBS = {
    "log": ("get",),
    "exec": ("create", "get"),
    "attach": ("create", "get"),
    "eviction": ("create",),
    "finalize": ("update",),
}
_REVIEWS = "authorization.k8s.io"
_HEALTH = ("/healthz", "/livez", "/readyz")


class Discovery:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def open_to_all(self, call: Call) -> Reply | None:
        """The reply to paths that need no authentication; None for other paths."""
        if call.method not in ("GET", "HEAD"):
            return None
        if call.path == "/version":
            return json_reply(_version())
        if call.path.startswith(_HEALTH):
            return text_reply("ok")
        return None

    def answer(self, call: Call) -> Reply | None:
        """None for a path that is not part of discovery."""
        segments = [segment for segment in call.path.split("/") if segment]
        if call.method not in ("GET", "HEAD"):
            return None
        document = self._document(call, segments)
        return None if document is None else json_reply(document)

    def _document(self, call: Call, segments: list[str]) -> Json:
        if not segments:
            return {"paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/readyz", "/version"]}
        if segments[0] == "api" and len(segments) <= 2:
            versions = {"": _core_versions(call), "v1": self._resources("", "v1")}
            return versions.get("".join(segments[1:]))
        if segments == ["apis"]:
            groups = [self._group(name) for name in self._groups()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        if segments[0] == "apis" and len(segments) <= 3 and segments[1] in self._groups():
            return self._of_group(*segments[1:])
        return None

    def _of_group(self, group: str, version: str = "") -> Json:
        if not version:
            return {"kind": "APIGroup", "apiVersion": "v1", **self._group(group)}
        if version not in self._versions(group):
            return None
        return self._resources(group, version)

    def _groups(self) -> list[str]:
        return [*dict.fromkeys(kind.group for kind in self._registry.kinds() if kind.group), _REVIEWS]

    def _versions(self, group: str) -> list[str]:
        """The versions of a group, the newest first."""
        if group == _REVIEWS:
            return ["v1"]
        return sorted({kind.version for kind in self._registry.kinds() if kind.group == group}, reverse=True)

    def _group(self, name: str) -> Json:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._versions(name)]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, group: str, version: str) -> Json:
        resources: list[Json] = []
        if group == _REVIEWS:
            resources.append(
                _entry("selfsubjectaccessreviews", "SelfSubjectAccessReview", ["create"], namespaced=False)
            )
        for kind in self._registry.kinds():
            if (kind.group, kind.version) == (group, version):
                resources += [_resource(kind), *(_subresource(kind, name) for name in kind.subresources)]
        group_version = f"{group}/{version}" if group else version
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


def _entry(name: str, kind: str, verbs: list[str], *, namespaced: bool) -> Json:
    return {"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs}


def _resource(kind: Kind) -> Json:
    entry = _entry(kind.plural, kind.kind, list(kind.verbs), namespaced=kind.namespaced)
    entry["singularName"] = kind.singular_name
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry


def _subresource(kind: Kind, name: str) -> Json:
    verbs = list(_SUBRESOURCE_VERBS.get(name, ("get", "patch", "update")))
    entry = _entry(f"{kind.plural}/{name}", kind.kind, verbs, namespaced=kind.namespaced)
    return {**entry, **_OTHER_KINDS.get(name, {})}


def _core_versions(call: Call) -> Json:
    host = call.base.partition("://")[2] or "localhost"
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": host}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def _version() -> Json:
    major, minor = VERSION.removeprefix("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "gitVersion": VERSION,
        "gitCommit": "9894294ef13a5b32803e3ca2c0d620a088cc84d1",
        "gitTreeState": "clean",
        "buildDate": "2025-05-15T09:04:02Z",
        "goVersion": "go1.23.8",
        "compiler": "gc",
        "platform": "linux/amd64",
    }
