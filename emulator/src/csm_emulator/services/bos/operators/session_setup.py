"""The session-setup operator: a session that is pending becomes what is wanted of nodes."""

from __future__ import annotations

from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import NO_ACTUAL_STATE, NO_DESIRED_STATE, NO_STAGED_STATE
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import API_ERROR, Failure
from csm_emulator.services.bos.operators import target_state
from csm_emulator.services.bos.operators.node_selection import Inventory, NodeChoice, SetupFailure
from csm_emulator.services.bos.operators.session_completion import complete
from csm_emulator.services.bos.sessions.table import PENDING, RUNNING

DID_SET_UP = "session_setup"


class SessionSetup:
    name: ClassVar[str] = "session-setup"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos
        self._stuck: dict[str, str] = {}
        """Why sessions stay pending: the last cause that was told of each."""

    def due(self) -> float | None:
        return self._bos.now if self._bos.sessions.any_with_status(PENDING) else None

    def run(self) -> None:
        inventory = Inventory(self._bos.neighbours)
        for session in self._bos.sessions.with_status(PENDING):
            self._set_up(session, inventory)

    def _set_up(self, session: Record, inventory: Inventory) -> None:
        try:
            patches = self._patches(session, inventory)
        except SetupFailure as failure:
            complete(self._bos, session, str(failure))
            return
        except Failure as failure:
            complete(self._bos, session, failure.named)
            return
        self._refuse_unknown(session, patches)
        patched = self._bos.components.patch_known(patches)
        if not patched:
            complete(self._bos, session, "All nodes found to act upon do not exist as BOS components")
            return
        names = ",".join(record["id"] for record in patched)
        self._bos.sessions.patch(session, {"status": {"status": RUNNING}, "components": names})

    def _patches(self, session: Record, inventory: Inventory) -> dict[str, Record]:
        template = self._bos.templates.get(session["template_name"], session.get("tenant"))
        if template is None:
            path = f"http://cray-bos/v2/sessiontemplates/{session['template_name']}"
            raise Failure(API_ERROR, f"Non-2XX response (404) to GET {path}; NOT FOUND ")
        choice = NodeChoice(self._bos, inventory, session)
        patches: dict[str, Record] = {}
        for boot_set in template["boot_sets"].values():
            nodes = choice.of(boot_set)
            if nodes:
                patch = self._patch(session, template, boot_set)
                patches.update(dict.fromkeys(sorted(nodes), patch))
        if not patches:
            raise SetupFailure("No nodes were found to act upon.")
        return patches

    def _patch(self, session: Record, template: Record, boot_set: Record) -> Record:
        """The same for all nodes of a boot set."""
        off = session["operation"] == "shutdown"
        wanted: Record = {}
        if not off:
            wanted["boot_artifacts"] = target_state.artefacts(self._bos, boot_set)
            wanted["configuration"] = target_state.configuration(template, boot_set)
        if session.get("stage"):
            staged = NO_STAGED_STATE if off else {**wanted, "session": session["name"]}
            return {"error": "", "staged_state": staged}
        patch: Record = {
            "error": "",
            "desired_state": NO_DESIRED_STATE if off else wanted,
            "session": session["name"],
            "enabled": True,
            "last_action": {"action": DID_SET_UP, "failed": False},
        }
        return {**patch, "actual_state": NO_ACTUAL_STATE} if session["operation"] == "reboot" else patch

    def _refuse_unknown(self, session: Record, patches: dict[str, Record]) -> None:
        """As before CSM 1.7: one node that BOS does not know, and this look is over for all sessions."""
        unknown = next((name for name in patches if self._bos.components.is_hidden(name)), None)
        if unknown is None:
            self._stuck.pop(session["name"], None)
            return
        cause = f"Component '{unknown}' does not exist"
        if self._stuck.get(session["name"]) != cause:
            self._stuck[session["name"]] = cause
            self._bos.context.log.add("bos-session-pending", session["name"], cause)
        told = f"Non-2XX response (404) to PATCH http://cray-bos/v2/components; NOT FOUND {cause}"
        raise Failure(API_ERROR, told)
