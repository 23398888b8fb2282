"""Whom a request is about, checked with HSM: xnames of controllers, and groups that hold some."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from csm_emulator.context import Context
from csm_emulator.dialects.hms.names import CONTROLLERS, hms_type, verified
from csm_emulator.records import Json
from csm_emulator.services.scsd.redfish import CRAY, Redfish, without_port
from csm_emulator.transport.mesh import NO_BODY

COMPONENTS = "/hsm/v2/State/Components?type=NodeBMC&type=ChassisBMC&type=RouterBMC&type=CabinetBMC&stateonly=true"
GOOD = ("On", "Ready")
FEW = 100
NO_VALID = "ERROR: No valid targets."


class HsmTrouble(Exception):
    """What SCSD says when HSM does not answer as it should."""


class NoTargets(Exception):
    """Nobody is left to do it to."""

    def __init__(self) -> None:
        super().__init__(NO_VALID)


@dataclass(slots=True)
class Target:
    name: str
    state: str = "Unknown"
    group_matched: bool = False
    """A group's name whose controllers stand for it."""
    mountain: bool = False

    @property
    def good(self) -> bool:
        return self.state in GOOD

    @property
    def complaint(self) -> str:
        return f"Target '{self.name}' in bad HSM state: {self.state}"


def ask_hsm(context: Context, path: str, body: Json = NO_BODY) -> Json:
    """With a body it is a POST. Raises ``HsmTrouble``."""
    reply = context.mesh.ask("smd", "GET" if body is NO_BODY else "POST", path, body)
    if not reply.ok:
        raise HsmTrouble(f"Bad return status from state manager: {reply.status}")
    return reply.json()


def verify(context: Context, names: Sequence[str], *, force: bool, groups: bool) -> list[Target]:
    """With ``force`` HSM is not asked: everything that looks like an xname will do."""
    if force:
        return [Target(name, "Ready" if verified(without_port(name)) else "Unknown") for name in names]
    targets = [Target(name) for name in names]
    if groups and any(not verified(without_port(name)) for name in names):
        targets += _members(context, targets)
    # Of two with the same name the later one is looked up, and the other stays unknown.
    wanted = {target.name: target for target in targets if not target.group_matched}
    # SCSD asks for all controllers; with few targets HSM's answer about those is the same.
    named = [name for name in wanted if name and verified(name) == name]
    path = COMPONENTS + "".join(f"&id={name}" for name in named) if 0 < len(named) <= FEW else COMPONENTS
    for component in ask_hsm(context, path)["Components"]:
        target = wanted.get(component["ID"])
        if target is not None and component["State"] in GOOD:
            target.state = component["State"]
    return targets


def _members(context: Context, targets: Sequence[Target]) -> list[Target]:
    wanted = {target.name: target for target in targets}
    found: list[Target] = []
    for group in ask_hsm(context, "/hsm/v2/groups"):
        label, members = group["label"], group["members"]["ids"] or ()
        controllers = [name for name in members if hms_type(without_port(name)) in CONTROLLERS]
        if label in wanted and controllers:
            wanted[label].group_matched = True
            found += [Target(name) for name in controllers]
    return found


def find_mountain(redfish: Redfish, targets: Iterable[Target]) -> None:
    """Who has a Cray enclosure; who does not answer counts as having none. Raises ``NoTargets``."""
    good = [target for target in targets if target.good]
    if not good:
        raise NoTargets
    is_mountain = cache(lambda name: redfish.answers(name) and redfish.vendor(name) == CRAY)
    for target in good:
        target.mountain = is_mountain(target.name)
