"""Controllers of namespaces, CustomResourceDefinitions and the tokens of service accounts."""

from __future__ import annotations

import base64

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.auth.identity import ACCOUNT, ACCOUNT_TOKEN, account_token
from csm_emulator.services.kubernetes.kinds.kinds import (
    CONFIG_MAPS,
    CRDS,
    NAMESPACES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Kind,
)
from csm_emulator.services.kubernetes.kinds.registry import kinds_of
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.delete import ObjectDeleter

SOON = 1.0
"""Seconds until a controller acts on a change."""
_LOOK_AGAIN = 2.0


class CoreControllers:
    def __init__(self, objects: Objects, deleter: ObjectDeleter) -> None:
        self._objects = objects
        self._deleter = deleter
        self._scheduler = objects.context.scheduler
        objects.listeners.append(self._changed)
        self._scheduler.register("kubernetes.empty-namespace", self._empty_namespace)

    def _changed(self, kind: Kind, previous: Json, current: Json) -> None:
        if kind == NAMESPACES:
            self._namespace_changed(previous, current)
        elif kind == CRDS:
            self._definition_changed(previous, current)
        elif kind == SECRETS and current is not None:
            self._secret_changed(current)

    def _secret_changed(self, secret: Json) -> None:
        """Fill in the token of a secret for a service account."""
        account = (secret["metadata"].get("annotations") or {}).get(ACCOUNT)
        data = secret.get("data") or {}
        if secret.get("type") == ACCOUNT_TOKEN and account and "token" not in data:
            token = account_token(self._objects.context.random, secret["metadata"]["uid"], account)
            encoded = base64.b64encode(token.encode()).decode()
            self._objects.put(SECRETS, {**secret, "data": {**data, "token": encoded}})

    def _namespace_changed(self, previous: Json, current: Json) -> None:
        if current is None:
            return
        name = current["metadata"]["name"]
        if previous is None:
            labels = {"kubernetes.io/metadata.name": name, **(current["metadata"].get("labels") or {})}
            labelled = {**current, "metadata": {**current["metadata"], "labels": labels}}
            self._objects.put(
                NAMESPACES, {**labelled, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
            )
            create_default_objects(self._objects, name)
        elif (
            current["metadata"].get("deletionTimestamp") and (current.get("status") or {}).get("phase") != "Terminating"
        ):
            self._objects.put(NAMESPACES, {**current, "status": {"phase": "Terminating"}})
            self._scheduler.after(SOON, "kubernetes.empty-namespace", name)

    def _empty_namespace(self, name: str) -> None:
        """Delete all objects of the namespace; when none is left, delete the namespace itself."""
        namespace = self._objects.namespace(name)
        if namespace is None:
            return
        remaining = 0
        for kind in list(self._objects.registry.stored()):
            if not kind.namespaced:
                continue
            for item in self._objects.list(kind, name):
                self._deleter.remove(kind, item)
                remaining += self._objects.get(kind, name, item["metadata"]["name"]) is not None
        if remaining:
            self._scheduler.after(_LOOK_AGAIN, "kubernetes.empty-namespace", name)
        else:
            self._objects.remove(NAMESPACES, "", name)

    def _definition_changed(self, previous: Json, current: Json) -> None:
        self._objects.registry.invalidate()
        if current is None:
            for kind in kinds_of(previous):
                for item in self._objects.store.list(kind.storage_key):
                    self._objects.store.remove(
                        kind.storage_key, item["metadata"].get("namespace", ""), item["metadata"]["name"]
                    )
        elif previous is None:
            self._objects.put(CRDS, {**current, "status": established_status(current, self._objects.now())})


def create_default_objects(objects: Objects, namespace: str) -> None:
    """Create the objects that every namespace has."""
    meta = {"name": "default", "namespace": namespace}
    objects.create(SERVICE_ACCOUNTS, {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": meta})
    ca_meta = {"name": "kube-root-ca.crt", "namespace": namespace}
    data = {"ca.crt": objects.context.public_addresses.kubernetes_ca}
    objects.create(CONFIG_MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": ca_meta, "data": data})


def established_status(crd: Json, now: str) -> Json:
    names, versions = crd["spec"]["names"], crd["spec"]["versions"]
    table = (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    )
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
        for kind, reason, message in table
    ]
    stored_versions = [version["name"] for version in versions if version.get("storage")]
    return {"conditions": conditions, "acceptedNames": names, "storedVersions": stored_versions}
