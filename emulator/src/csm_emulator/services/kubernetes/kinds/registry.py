"""The resources that are served: built-in ones and those of CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import ALL_VERBS, BUILT_IN, CRDS, Column, Kind
from csm_emulator.services.kubernetes.storage.object_store import ObjectStore


class Registry:
    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._loaded = False
        self._kinds: dict[tuple[str, str, str], Kind] = {}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._load().get((group, version, plural))

    def kinds(self) -> Iterable[Kind]:
        return self._load().values()

    def stored(self) -> Iterator[Kind]:
        """Each resource once, in its storage version."""
        return (kind for kind in self.kinds() if kind.storage in ("", kind.version))

    def by_api_version(self, api_version: str, kind: str) -> Kind | None:
        """The kind with the ``apiVersion`` and ``kind`` of an object."""
        return next(
            (
                kind_version
                for kind_version in self.kinds()
                if (kind_version.api_version, kind_version.kind) == (api_version, kind)
            ),
            None,
        )

    def invalidate(self) -> None:
        """Load the kinds again: a CustomResourceDefinition changed."""
        self._loaded = False

    def _load(self) -> dict[tuple[str, str, str], Kind]:
        if not self._loaded:
            kinds = [*BUILT_IN, *(kind for crd in self._store.list(CRDS.storage_key) for kind in kinds_of(crd))]
            self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in kinds}
            self._loaded = True
        return self._kinds


def kinds_of(crd: Json) -> Iterator[Kind]:
    """A kind for each version that is served."""
    spec = crd["spec"]
    names = spec["names"]
    storage = next((item["name"] for item in spec["versions"] if item.get("storage")), "")
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        yield Kind(
            spec["group"],
            version["name"],
            names["plural"],
            names["kind"],
            tuple(names.get("shortNames") or ()),
            spec.get("scope") == "Namespaced",
            tuple(sorted(version.get("subresources") or ())),
            ALL_VERBS,
            tuple(names.get("categories") or ()),
            names.get("singular", ""),
            names.get("listKind", ""),
            (version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"},
            tuple(_column(item) for item in version.get("additionalPrinterColumns") or ()),
            storage,
        )


def _column(column: Json) -> Column:
    return Column(
        column["name"],
        column.get("type", "string"),
        column.get("jsonPath", ""),
        column.get("priority", 0),
        column.get("format", ""),
        column.get("description", ""),
    )
