"""What the cluster does by itself when objects change: namespaces, definitions of resources, accounts."""

from __future__ import annotations

import base64

from csm_emulator.services.kubernetes.auth.identity import ACCOUNT, ACCOUNT_TOKEN, account_token
from csm_emulator.services.kubernetes.kinds.kinds import (
    CONFIG_MAPS,
    CRDS,
    NAMESPACES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Json,
    Kind,
)
from csm_emulator.services.kubernetes.kinds.registry import kinds_of
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.delete import Deleting

SOON = 1.0
"""Seconds until a controller acts on a change."""
_LOOK_AGAIN = 2.0


class Controllers:
    def __init__(self, objects: Objects, deleting: Deleting) -> None:
        self._objects = objects
        self._deleting = deleting
        self._scheduler = objects.context.scheduler
        objects.listeners.append(self._changed)
        self._scheduler.register("kubernetes.empty-namespace", self._empty)

    def _changed(self, kind: Kind, before: Json, after: Json) -> None:
        if kind == NAMESPACES:
            self._namespace_changed(before, after)
        elif kind == CRDS:
            self._definition_changed(before, after)
        elif kind == SECRETS and after is not None:
            self._secret_changed(after)

    def _secret_changed(self, after: Json) -> None:
        """A secret for an account gets its token."""
        account = (after["metadata"].get("annotations") or {}).get(ACCOUNT)
        data = after.get("data") or {}
        if after.get("type") == ACCOUNT_TOKEN and account and "token" not in data:
            token = account_token(self._objects.context.random, after["metadata"]["uid"], account)
            encoded = base64.b64encode(token.encode()).decode()
            self._objects.put(SECRETS, {**after, "data": {**data, "token": encoded}})

    def _namespace_changed(self, before: Json, after: Json) -> None:
        if after is None:
            return
        name = after["metadata"]["name"]
        if before is None:
            labels = {"kubernetes.io/metadata.name": name, **(after["metadata"].get("labels") or {})}
            settled = {**after, "metadata": {**after["metadata"], "labels": labels}}
            self._objects.put(
                NAMESPACES, {**settled, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
            )
            furnish(self._objects, name)
        elif after["metadata"].get("deletionTimestamp") and (after.get("status") or {}).get("phase") != "Terminating":
            self._objects.put(NAMESPACES, {**after, "status": {"phase": "Terminating"}})
            self._scheduler.after(SOON, "kubernetes.empty-namespace", name)

    def _empty(self, name: str) -> None:
        """Everything in it is asked to go; when nothing is left, it goes itself."""
        found = self._objects.namespace(name)
        if found is None:
            return
        left = 0
        for kind in list(self._objects.registry.stored()):
            if not kind.namespaced:
                continue
            for each in self._objects.list(kind, name):
                self._deleting.remove(kind, each)
                left += self._objects.get(kind, name, each["metadata"]["name"]) is not None
        if left:
            self._scheduler.after(_LOOK_AGAIN, "kubernetes.empty-namespace", name)
        else:
            self._objects.remove(NAMESPACES, "", name)

    def _definition_changed(self, before: Json, after: Json) -> None:
        self._objects.registry.forget()
        if after is None:
            for kind in kinds_of(before):
                for each in self._objects.store.list(kind.place):
                    self._objects.store.remove(
                        kind.place, each["metadata"].get("namespace", ""), each["metadata"]["name"]
                    )
        elif before is None:
            self._objects.put(CRDS, {**after, "status": established(after, self._objects.now())})


def furnish(objects: Objects, namespace: str) -> None:
    """What every namespace has."""
    meta = {"name": "default", "namespace": namespace}
    objects.create(SERVICE_ACCOUNTS, {"kind": "ServiceAccount", "apiVersion": "v1", "metadata": meta})
    trust = {"name": "kube-root-ca.crt", "namespace": namespace}
    data = {"ca.crt": objects.context.public_addresses.kubernetes_ca}
    objects.create(CONFIG_MAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": trust, "data": data})


def established(crd: Json, now: str) -> Json:
    names, versions = crd["spec"]["names"], crd["spec"]["versions"]
    table = (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    )
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
        for kind, reason, message in table
    ]
    stored = [each["name"] for each in versions if each.get("storage")]
    return {"conditions": conditions, "acceptedNames": names, "storedVersions": stored}
