"""The hierarchical namespace controller: an anchor in a namespace makes a namespace below it."""

from __future__ import annotations

from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, Json, Kind
from csm_emulator.services.kubernetes.statuses import Refused, failure
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.delete import Deleting

ANCHORS = "hnc.x-k8s.io/subnamespaceanchors"
PARENT = "hnc.x-k8s.io/subnamespace-of"
SOON = 1.0
"""Seconds until the controller acts on an anchor."""
_WEBHOOK = "subnamespaceanchors.hnc.x-k8s.io"


class Hierarchy:
    def __init__(self, objects: Objects, deleting: Deleting) -> None:
        self._objects = objects
        self._deleting = deleting
        objects.listeners.append(self._changed)
        deleting.guards.append(self._guard)
        objects.context.scheduler.register("kubernetes.make-subnamespace", self._make)

    def _changed(self, kind: Kind, before: Json, after: Json) -> None:
        if kind.place != ANCHORS:
            return
        meta = (after or before)["metadata"]
        if before is None:
            scheduler = self._objects.context.scheduler
            scheduler.after(SOON, "kubernetes.make-subnamespace", meta["namespace"], meta["name"])
        elif after is None and (child := self._child(meta)) is not None:
            self._deleting.remove(NAMESPACES, child)

    def _child(self, meta: Json) -> Json:
        """The namespace that an anchor made; None when another has that name, or none."""
        found = self._objects.namespace(meta["name"])
        return found if found is not None and _parent(found) == meta["namespace"] else None

    def _guard(self, kind: Kind, found: Json) -> None:
        """An anchor with others below its namespace stays."""
        meta = found["metadata"]
        if kind.place != ANCHORS or self._child(meta) is None:
            return
        if self._objects.store.list(ANCHORS, meta["name"]):
            name = meta["name"]
            why = (
                f'{_WEBHOOK} "{name}" is forbidden: The subnamespace {name} is not a leaf and doesn\'t allow cascading '
                "deletion. Please set allowCascadingDeletion flag or make it a leaf first."
            )
            raise Refused(failure(403, "Forbidden", f'admission webhook "{_WEBHOOK}" denied the request: {why}'))

    def _make(self, parent: str, name: str) -> None:
        kind = self._objects.registry.find("hnc.x-k8s.io", "v1alpha2", "subnamespaceanchors")
        anchor = self._objects.store.get(ANCHORS, parent, name)
        if kind is None or anchor is None:
            return
        there = self._objects.namespace(name)
        if there is None:
            labels = {f"{name}.tree.hnc.x-k8s.io/depth": "0", f"{parent}.tree.hnc.x-k8s.io/depth": "1"}
            meta = {"name": name, "annotations": {PARENT: parent}, "labels": labels}
            self._objects.create(NAMESPACES, {"kind": "Namespace", "apiVersion": "v1", "metadata": meta, "spec": {}})
        own = there is None or _parent(there) == parent
        self._objects.put(kind, {**anchor, "status": {"status": "Ok" if own else "Conflict"}})


def _parent(namespace: Json) -> str:
    return str((namespace["metadata"].get("annotations") or {}).get(PARENT, ""))
