"""Which resources are served: those that are built in, and those that CustomResourceDefinitions describe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from csm_emulator.services.kubernetes.kinds.kinds import ALL_VERBS, BUILT_IN, CRDS, Column, Json, Kind
from csm_emulator.services.kubernetes.storage.table import Store


class Registry:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known = False
        self._kinds: dict[tuple[str, str, str], Kind] = {}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._all().get((group, version, plural))

    def kinds(self) -> Iterable[Kind]:
        return self._all().values()

    def stored(self) -> Iterator[Kind]:
        """Each resource once, in the version in which it is kept."""
        return (kind for kind in self.kinds() if kind.storage in ("", kind.version))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """By what stands in an object."""
        return next((each for each in self.kinds() if (each.api_version, each.kind) == (api_version, kind)), None)

    def forget(self) -> None:
        """A CustomResourceDefinition changed."""
        self._known = False

    def _all(self) -> dict[tuple[str, str, str], Kind]:
        if not self._known:
            kinds = [*BUILT_IN, *(kind for crd in self._store.list(CRDS.place) for kind in kinds_of(crd))]
            self._kinds = {(kind.group, kind.version, kind.plural): kind for kind in kinds}
            self._known = True
        return self._kinds


def kinds_of(crd: Json) -> Iterator[Kind]:
    """One for each version that is served."""
    spec = crd["spec"]
    names = spec["names"]
    storage = next((each["name"] for each in spec["versions"] if each.get("storage")), "")
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
            tuple(_column(each) for each in version.get("additionalPrinterColumns") or ()),
            storage,
        )


def _column(told: Json) -> Column:
    return Column(
        told["name"],
        told.get("type", "string"),
        told.get("jsonPath", ""),
        told.get("priority", 0),
        told.get("format", ""),
        told.get("description", ""),
    )
