"""BOS's clients of HSM, PCS, CFS, BSS and IMS, over the mesh. A request that fails raises ``Failure``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import responses
from typing import TypeVar
from urllib.parse import quote

from csm_emulator.clients.hsm import PARTITIONS, Component, HsmClient, HsmResponse
from csm_emulator.records import Json, Record
from csm_emulator.services.bos.components.records import configuration_of
from csm_emulator.services.bos.failures import API_ERROR, HSM_ERROR, PCS_ERROR, Failure, failure_of
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh

T = TypeVar("T")
_HOSTS = {"smd": "cray-smd", "bss": "cray-bss", "cfs": "cray-cfs-api", "pcs": "cray-power-control", "ims": "cray-ims"}
_ERRORS = {"smd": HSM_ERROR, "pcs": PCS_ERROR}
_CFS_GET, _CFS_PATCH = 200, 1000
"""The most components in one request, by method."""
DEADLINE_MINUTES = 1


class ServiceClients:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._hsm = HsmClient(mesh)

    def _ask(self, service: str, method: str, path: str, body: Json = NO_BODY) -> Reply:
        reply = self._mesh.ask(service, method, path, body)
        if not reply.ok:
            raise _refusal(reply, service, method, path)
        return reply

    def _json(self, service: str, method: str, path: str, body: Json = NO_BODY) -> Json:
        return _read(self._ask(service, method, path, body))

    # HSM

    def nodes(self) -> set[str]:
        """The xnames of all nodes in HSM."""
        components = _checked(self._hsm.components())
        return {component["ID"] for component in components if component.get("Type") == "Node"}

    def roles(self) -> dict[str, set[str]]:
        """Xnames by role, and by role and sub-role (``Compute_UAN``)."""
        xnames_by_role: defaultdict[str, set[str]] = defaultdict(set)
        for component in _checked(self._hsm.components()):
            role = component.get("Role", "")
            if "Role" in component:
                xnames_by_role[role].add(component["ID"])
            if "SubRole" in component:
                xnames_by_role[f"{role}_{component['SubRole']}"].add(component["ID"])
        return dict(xnames_by_role)

    def groups(self) -> dict[str, set[str]]:
        return {group.name: set(group.members) for group in _checked(self._hsm.groups())}

    def partitions(self) -> dict[str, set[str]]:
        return {partition.name: set(partition.members) for partition in _checked(self._hsm.groups(PARTITIONS))}

    def locked(self) -> set[str]:
        return {component["ID"] for component in _checked(self._hsm.lock_status("type=Node&locked=True"))}

    def hsm_components(self, names: Iterable[str], *, only_enabled: bool = False) -> list[Component]:
        """The components with these names; names that HSM does not have are left out."""
        xnames = list(names)
        if not xnames:
            return []
        return _checked(self._hsm.query_components(xnames, {"enabled": ["True"]} if only_enabled else {}))

    # PCS

    def power_states(self, names: Sequence[str]) -> dict[str, str]:
        """The power state of each node, or the error that PCS reports for it."""
        states = {}
        for status in self._json("pcs", "POST", "/power-status", {"xname": list(names)})["status"] or ():
            state = status.get("error") or status.get("powerState", "").lower()
            if state:
                states[status["xname"]] = state
        return states

    def transition(self, operation: str, names: Sequence[str]) -> None:
        body = {
            "operation": operation,
            "taskDeadlineMinutes": DEADLINE_MINUTES,
            "location": [{"xname": name} for name in names],
        }
        self._ask("pcs", "POST", "/transitions", body)

    # CFS

    def cfs_components(self, names: Sequence[str]) -> dict[str, Record]:
        components: dict[str, Record] = {}
        for batch in batches(names, _CFS_GET):
            page: Json = {"ids": ",".join(batch)}
            while page is not None:
                answer = self._json("cfs", "GET", f"/v3/components?{_query(page)}")
                components.update((component["id"], component) for component in answer.get("components") or ())
                page = answer.get("next")
        return components

    def must_have_cfs(self) -> None:
        """Raises ``Failure`` if CFS does not answer."""
        self._ask("cfs", "GET", "/v3/components?limit=1")

    def configure(self, components: Iterable[Record], *, enabled: bool, clear_state: bool = False) -> None:
        """Set the desired configuration: one request for all components with one configuration and session."""
        names_by_target: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for component in components:
            names_by_target[configuration_of(component) or "", component.get("session", "")].append(component["id"])
        for (configuration, session), names in names_by_target.items():
            patch: Record = {"enabled": enabled, "desired_config": configuration, "tags": {"bos_session": session}}
            if clear_state:
                patch["state"] = []
            for batch in batches(names, _CFS_PATCH):
                self._ask("cfs", "PATCH", "/v3/components", {"patch": patch, "filters": {"ids": ",".join(batch)}})

    # BSS and IMS

    def set_boot_parameters(self, names: Sequence[str], kernel: str, parameters: str, initrd: str) -> str:
        """Returns the token that nodes report once they have started with these parameters."""
        body = {"hosts": list(names), "params": parameters, "kernel": kernel, "initrd": initrd}
        reply = self._ask("bss", "PUT", "/boot/v1/bootparameters", body)
        for name, value in reply.headers:
            if name.lower() == "bss-referral-token":
                return value
        raise Failure("KeyError", "'bss-referral-token'")

    def image(self, image: str) -> Record | None:
        """The image's record; None if IMS has none."""
        path = f"/v3/images/{quote(image, safe='')}"
        reply = self._mesh.ask("ims", "GET", path)
        if reply.status == 404:
            return None
        if not reply.ok:
            raise _refusal(reply, "ims", "GET", path)
        record: Record = _read(reply)
        return record

    def tag_for_sbps(self, image: str) -> None:
        """Tag the image, so that SBPS projects its root file system to nodes."""
        tag = {"operation": "set", "key": "sbps-project", "value": "true"}
        path = f"/v3/images/{quote(image, safe='')}"
        reply = self._mesh.ask("ims", "PATCH", path, {"metadata": tag})
        if reply.status == 404:
            kind = "bos.common.clients.ims.exceptions.ImageNotFound"
            raise Failure(kind, f"IMS image id '{image}' does not exist in IMS")
        if not reply.ok:
            raise _refusal(reply, "ims", "PATCH", path)


def _checked(response: HsmResponse[T]) -> T:
    """The value of an answer of HSM."""
    if not response.ok:
        raise _refusal(response.reply, "smd", response.method, response.path)
    try:
        return response.value()
    except ValueError as error:
        raise failure_of(error) from None


def _read(reply: Reply) -> Json:
    try:
        return reply.json()
    except ValueError as error:
        raise failure_of(error) from None


def _refusal(reply: Reply, service: str, method: str, path: str) -> Failure:
    text = " ".join(line.strip() for line in reply.body.decode("utf-8", "replace").splitlines())
    return Failure(
        _ERRORS.get(service, API_ERROR),
        f"Non-2XX response ({reply.status}) to {method} http://{_HOSTS[service]}{path};"
        f" {responses.get(reply.status, '')} {text}",
    )


def batches(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """The items in stretches of ``size``; in one if ``size`` is 0."""
    step = size or max(len(items), 1)
    for start in range(0, len(items), step):
        yield items[start : start + step]


def _query(page: Mapping[str, Json]) -> str:
    return "&".join(f"{name}={quote(str(value), safe=',')}" for name, value in page.items() if value is not None)
