"""The hierarchical namespace controller: an anchor in a namespace creates a child namespace."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, Kind
from csm_emulator.services.kubernetes.statuses import StatusError, failure
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.delete import ObjectDeleter

ANCHORS = "hnc.x-k8s.io/subnamespaceanchors"
PARENT = "hnc.x-k8s.io/subnamespace-of"
SOON = 1.0
"""Seconds until the controller acts on an anchor."""
_WEBHOOK = "subnamespaceanchors.hnc.x-k8s.io"


class HierarchyController:
    def __init__(self, objects: Objects, deleter: ObjectDeleter) -> None:
        self._objects = objects
        self._deleter = deleter
        objects.listeners.append(self._changed)
        deleter.guards.append(self._check_deletion)
        objects.context.scheduler.register("kubernetes.make-subnamespace", self._make_subnamespace)

    def _changed(self, kind: Kind, previous: Json, current: Json) -> None:
        if kind.storage_key != ANCHORS:
            return
        meta = (current or previous)["metadata"]
        if previous is None:
            scheduler = self._objects.context.scheduler
            scheduler.after(SOON, "kubernetes.make-subnamespace", meta["namespace"], meta["name"])
        elif current is None and (child := self._child(meta)) is not None:
            self._deleter.remove(NAMESPACES, child)

    def _child(self, meta: Json) -> Json:
        """The namespace that the anchor created; None when it does not exist or belongs to another parent."""
        namespace = self._objects.namespace(meta["name"])
        return namespace if namespace is not None and _parent(namespace) == meta["namespace"] else None

    def _check_deletion(self, kind: Kind, anchor: Json) -> None:
        """Raises ``StatusError`` when the anchor's namespace has children itself."""
        meta = anchor["metadata"]
        if kind.storage_key != ANCHORS or self._child(meta) is None:
            return
        if self._objects.store.list(ANCHORS, meta["name"]):
            name = meta["name"]
            reason = (
                f'{_WEBHOOK} "{name}" is forbidden: The subnamespace {name} is not a leaf and doesn\'t allow cascading '
                "deletion. Please set allowCascadingDeletion flag or make it a leaf first."
            )
            raise StatusError(failure(403, "Forbidden", f'admission webhook "{_WEBHOOK}" denied the request: {reason}'))

    def _make_subnamespace(self, parent: str, name: str) -> None:
        kind = self._objects.registry.find("hnc.x-k8s.io", "v1alpha2", "subnamespaceanchors")
        anchor = self._objects.store.get(ANCHORS, parent, name)
        if kind is None or anchor is None:
            return
        namespace = self._objects.namespace(name)
        if namespace is None:
            labels = {f"{name}.tree.hnc.x-k8s.io/depth": "0", f"{parent}.tree.hnc.x-k8s.io/depth": "1"}
            meta = {"name": name, "annotations": {PARENT: parent}, "labels": labels}
            self._objects.create(NAMESPACES, {"kind": "Namespace", "apiVersion": "v1", "metadata": meta, "spec": {}})
        is_own = namespace is None or _parent(namespace) == parent
        self._objects.put(kind, {**anchor, "status": {"status": "Ok" if is_own else "Conflict"}})


def _parent(namespace: Json) -> str:
    return str((namespace["metadata"].get("annotations") or {}).get(PARENT, ""))
