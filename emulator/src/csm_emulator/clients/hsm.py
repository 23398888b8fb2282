"""A client of HSM, the hardware state manager (the service ``smd``), for the other services.

Each method sends one request and returns an ``HsmResponse``. Which statuses are errors, and what is said then, differs
from service to service, as it does between the real ones: the caller looks at ``ok`` or ``status`` before it reads
``value()``. Nothing is retried here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Required, TypedDict, TypeVar
from urllib.parse import quote

from csm_emulator.records import Json
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh

T = TypeVar("T")
GroupKind = Literal["groups", "partitions"]
GROUPS: GroupKind = "groups"
PARTITIONS: GroupKind = "partitions"
ProcessingModel = Literal["rigid", "flexible"]
"""``rigid``: all components or none; ``flexible``: as many as possible."""

_ROOT = "/hsm/v2"
_RESERVATIONS = "locks/service/reservations"
_NAME_FIELD = {GROUPS: "label", PARTITIONS: "name"}


class Component(TypedDict, total=False):
    ID: Required[str]
    Type: str
    State: str
    Flag: str
    Enabled: bool
    Role: str
    SubRole: str
    NID: int
    Arch: str
    Class: str


class ComponentEndpoint(TypedDict, total=False):
    """What Redfish says about a discovered component."""

    ID: Required[str]
    RedfishType: str
    RedfishSubtype: str
    RedfishChassisInfo: Json
    RedfishManagerInfo: Json
    RedfishSystemInfo: Json


class DiscoveryInfo(TypedDict, total=False):
    LastDiscoveryStatus: str


class RedfishEndpoint(TypedDict, total=False):
    ID: Required[str]
    DiscoveryInfo: DiscoveryInfo | None


class PowerMap(TypedDict, total=False):
    id: Required[str]
    poweredBy: list[str] | None


class Membership(TypedDict, total=False):
    id: Required[str]
    groupLabels: list[str]
    partitionName: str


class Reservation(TypedDict):
    ID: str
    ReservationKey: str
    DeputyKey: str


@dataclass(frozen=True, slots=True)
class Group:
    """A group or a partition."""

    name: str
    members: tuple[str, ...]
    exclusive_group: str
    """A node is in at most one of the groups that have the same text here. Empty for none, and for partitions."""


@dataclass(frozen=True, slots=True)
class HsmResponse(Generic[T]):
    method: str
    path: str
    """With the query, as it was sent."""
    reply: Reply
    _read: Callable[[Json], T]

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def ok(self) -> bool:
        return self.reply.ok

    def value(self) -> T:
        """Raises ``ValueError`` when the body is not JSON, and ``UnexpectedAnswer`` when it is JSON of another form."""
        return self._read(self.reply.json())


class UnexpectedAnswer(ValueError):
    """HSM answered with an object where a list is expected."""


class HsmClient:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def _send(self, method: str, path: str, read: Callable[[Json], T], body: Json = NO_BODY) -> HsmResponse[T]:
        path = f"{_ROOT}/{path}"
        return HsmResponse(method, path, self._mesh.ask("smd", method, path, body), read)

    def _get(self, path: str, query: str, read: Callable[[Json], T]) -> HsmResponse[T]:
        return self._send("GET", f"{path}?{query}" if query else path, read)

    # A query is encoded by the caller: the real services do it each in its own way.

    def ready(self) -> HsmResponse[Json]:
        return self._get("service/ready", "", _object)

    def liveness(self) -> HsmResponse[None]:
        return self._get("service/liveness", "", _nothing)

    def component(self, xname: str) -> HsmResponse[Component]:
        return self._get(f"State/Components/{xname}", "", _component)

    def components(self, query: str = "") -> HsmResponse[list[Component]]:
        return self._get("State/Components", query, _components)

    def descendants(self, xname: str, query: str) -> HsmResponse[list[Component]]:
        """The component and everything below it."""
        return self._get(f"State/Components/Query/{xname}", query, _components)

    def query_components(
        self, xnames: Iterable[str], filters: Mapping[str, Json] | None = None
    ) -> HsmResponse[list[Component]]:
        """Those of the components that HSM has, without a limit on how many are named."""
        body = {"ComponentIDs": list(xnames), **(filters or {})}
        return self._send("POST", "State/Components/Query", _components, body)

    def update_states(self, body: Mapping[str, Json]) -> HsmResponse[None]:
        return self._send("PATCH", "State/Components/BulkStateData", _nothing, body)

    def component_endpoints(self, query: str) -> HsmResponse[list[ComponentEndpoint]]:
        return self._get("Inventory/ComponentEndpoints", query, _component_endpoints)

    def redfish_endpoints(self) -> HsmResponse[list[RedfishEndpoint]]:
        return self._get("Inventory/RedfishEndpoints", "", _redfish_endpoints)

    def ethernet_interfaces(self, query: str) -> HsmResponse[list[Json]]:
        return self._get("Inventory/EthernetInterfaces", query, _list)

    def discover(self, xnames: Iterable[str], *, force: bool) -> HsmResponse[Json]:
        return self._send("POST", "Inventory/Discover", _object, {"xnames": list(xnames), "force": force})

    def power_maps(self) -> HsmResponse[list[PowerMap]]:
        return self._get("sysinfo/powermaps", "", _list)

    def subscribe(self, subscription: Mapping[str, Json]) -> HsmResponse[None]:
        """To the changes of components' states."""
        return self._send("POST", "Subscriptions/SCN", _nothing, subscription)

    # Groups and partitions

    def groups(self, kind: GroupKind = GROUPS) -> HsmResponse[list[Group]]:
        return self._get(kind, "", lambda document: [_group(entry, _NAME_FIELD[kind]) for entry in _list(document)])

    def group_names(self, kind: GroupKind = GROUPS) -> HsmResponse[list[str]]:
        return self._get(f"{kind}/{_NAME_FIELD[kind]}s", "", _list)

    def memberships(self, query: str) -> HsmResponse[list[Membership]]:
        return self._get("memberships", query, _list)

    def create_group(
        self, kind: GroupKind, name: str, tags: Sequence[str], xnames: Iterable[str], exclusive_group: str = ""
    ) -> HsmResponse[None]:
        body: dict[str, Json] = {_NAME_FIELD[kind]: name, "tags": list(tags), "members": {"ids": list(xnames)}}
        if exclusive_group:
            body["exclusiveGroup"] = exclusive_group
        return self._send("POST", kind, _nothing, body)

    def delete_group(self, kind: GroupKind, name: str) -> HsmResponse[None]:
        return self._send("DELETE", f"{kind}/{quote(name, '')}", _nothing)

    def add_member(self, kind: GroupKind, name: str, xname: str) -> HsmResponse[None]:
        return self._send("POST", f"{kind}/{quote(name, '')}/members", _nothing, {"id": xname})

    def remove_member(self, kind: GroupKind, name: str, xname: str) -> HsmResponse[None]:
        return self._send("DELETE", f"{kind}/{quote(name, '')}/members/{quote(xname, '')}", _nothing)

    # Locks and reservations

    def lock_status(self, query: str) -> HsmResponse[list[Component]]:
        return self._get("locks/status", query, _components)

    def reserve(self, xnames: Iterable[str], model: ProcessingModel, minutes: int) -> HsmResponse[list[Reservation]]:
        """Of a flexible request, the value has those that could be reserved."""
        body = {"ComponentIDs": list(xnames), "ProcessingModel": model, "ReservationDuration": minutes}
        return self._send("POST", _RESERVATIONS, _reservations, body)

    def renew(self, keys: Mapping[str, str], model: ProcessingModel, minutes: int) -> HsmResponse[list[str]]:
        """``keys`` has the reservation key by xname; the value has the xnames that were renewed."""
        body = {"ReservationKeys": _keys(keys), "ProcessingModel": model, "ReservationDuration": minutes}
        return self._send("POST", f"{_RESERVATIONS}/renew", _renewed, body)

    def check(self, deputy_keys: Mapping[str, str]) -> HsmResponse[list[str]]:
        """The value has the xnames whose deputy key is valid."""
        return self._send("POST", f"{_RESERVATIONS}/check", _checked, {"DeputyKeys": _keys(deputy_keys)})

    def release(self, keys: Mapping[str, str], model: ProcessingModel) -> HsmResponse[None]:
        """A reservation that HSM does not release ends by itself after its minutes."""
        body = {"ReservationKeys": _keys(keys), "ProcessingModel": model}
        return self._send("POST", f"{_RESERVATIONS}/release", _nothing, body)


def _keys(keys: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"ID": xname, "Key": key} for xname, key in keys.items()]


def _nothing(_: Json) -> None:
    return None


def _object(document: Json) -> Json:
    return document if isinstance(document, dict) else {}


def _list(document: Json) -> Json:
    if document is not None and not isinstance(document, list):
        raise UnexpectedAnswer("the answer of HSM is not a list")
    return document or []


def _field(document: Json, name: str) -> Json:
    """The list of that name; an empty one when the document has none, as a problem has not."""
    entries = document.get(name) if isinstance(document, dict) else None
    return entries if isinstance(entries, list) else []


def _component(document: Json) -> Component:
    component: Component = document
    return component


def _components(document: Json) -> list[Component]:
    return list(_field(document, "Components"))


def _component_endpoints(document: Json) -> list[ComponentEndpoint]:
    return list(_field(document, "ComponentEndpoints"))


def _redfish_endpoints(document: Json) -> list[RedfishEndpoint]:
    return list(_field(document, "RedfishEndpoints"))


def _group(entry: Json, name_field: str) -> Group:
    members = (entry.get("members") or {}).get("ids") or ()
    return Group(str(entry[name_field]), tuple(str(xname) for xname in members), entry.get("exclusiveGroup") or "")


def _reservations(document: Json) -> list[Reservation]:
    return list(_field(document, "Success"))


def _renewed(document: Json) -> list[str]:
    return list(_field(_object(document).get("Success"), "ComponentIDs"))


def _checked(document: Json) -> list[str]:
    return [key["ID"] for key in _field(document, "Success")]
