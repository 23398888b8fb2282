"""The targets of a request, checked with HSM: xnames of controllers, and groups with controllers."""

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
GOOD_STATES = ("On", "Ready")
MAX_IDS = 100
NO_VALID = "ERROR: No valid targets."


class HsmError(Exception):
    """HSM answered with an error; the text is SCSD's message."""


class NoValidTargets(Exception):
    """No target is in a good state."""

    def __init__(self) -> None:
        super().__init__(NO_VALID)


@dataclass(slots=True)
class Target:
    name: str
    state: str = "Unknown"
    group_matched: bool = False
    """Whether it is the name of a group, which is replaced by the controllers of the group."""
    mountain: bool = False

    @property
    def in_good_state(self) -> bool:
        return self.state in GOOD_STATES

    @property
    def error(self) -> str:
        return f"Target '{self.name}' in bad HSM state: {self.state}"


def ask_hsm(context: Context, path: str, body: Json = NO_BODY) -> Json:
    """The reply of HSM to a GET, or with a body to a POST. Raises ``HsmError``."""
    reply = context.mesh.ask("smd", "GET" if body is NO_BODY else "POST", path, body)
    if not reply.ok:
        raise HsmError(f"Bad return status from state manager: {reply.status}")
    return reply.json()


def verify(context: Context, names: Sequence[str], *, force: bool, groups: bool) -> list[Target]:
    """The targets with their HSM states. With ``force`` HSM is not asked, and every valid xname is Ready."""
    if force:
        return [Target(name, "Ready" if verified(without_port(name)) else "Unknown") for name in names]
    targets = [Target(name) for name in names]
    if groups and any(not verified(without_port(name)) for name in names):
        targets += _members(context, targets)
    # Of two targets with the same name only the later one gets its state; the other stays unknown.
    target_by_name = {target.name: target for target in targets if not target.group_matched}
    # SCSD asks for all controllers; with few targets HSM's answer about those is the same.
    xnames = [name for name in target_by_name if name and verified(name) == name]
    path = COMPONENTS + "".join(f"&id={name}" for name in xnames) if 0 < len(xnames) <= MAX_IDS else COMPONENTS
    for component in ask_hsm(context, path)["Components"]:
        target = target_by_name.get(component["ID"])
        if target is not None and component["State"] in GOOD_STATES:
            target.state = component["State"]
    return targets


def _members(context: Context, targets: Sequence[Target]) -> list[Target]:
    target_by_name = {target.name: target for target in targets}
    targets_of_groups: list[Target] = []
    for group in ask_hsm(context, "/hsm/v2/groups"):
        label, members = group["label"], group["members"]["ids"] or ()
        controllers = [name for name in members if hms_type(without_port(name)) in CONTROLLERS]
        if label in target_by_name and controllers:
            target_by_name[label].group_matched = True
            targets_of_groups += [Target(name) for name in controllers]
    return targets_of_groups


def find_mountain(redfish: Redfish, targets: Iterable[Target]) -> None:
    """Mark the targets in Cray enclosures, without those that do not answer. Raises ``NoValidTargets``."""
    good_targets = [target for target in targets if target.in_good_state]
    if not good_targets:
        raise NoValidTargets
    is_mountain = cache(lambda name: redfish.answers(name) and redfish.vendor(name) == CRAY)
    for target in good_targets:
        target.mountain = is_mountain(target.name)
