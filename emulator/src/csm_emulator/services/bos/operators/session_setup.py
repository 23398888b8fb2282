"""The session-setup operator: it writes a pending session into the desired or staged state of its nodes."""

from __future__ import annotations

from typing import ClassVar

from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import NO_ACTUAL_STATE, NO_DESIRED_STATE, NO_STAGED_STATE
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.failures import API_ERROR, Failure
from csm_emulator.services.bos.operators import target_state
from csm_emulator.services.bos.operators.node_selection import Inventory, NodeSelection, SetupFailure
from csm_emulator.services.bos.operators.session_completion import complete
from csm_emulator.services.bos.sessions.table import PENDING, RUNNING

DID_SET_UP = "session_setup"


class SessionSetup:
    name: ClassVar[str] = "session-setup"
    frequency: ClassVar[str] = "polling_frequency"

    def __init__(self, bos: Bos) -> None:
        self._bos = bos
        self._logged_causes: dict[str, str] = {}
        """The last cause that was logged for each session that stays pending."""

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
            complete(self._bos, session, failure.qualified_message)
            return
        self._check_unknown_members(session, patches)
        patched = self._bos.components.patch_existing(patches)
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
        selection = NodeSelection(self._bos, inventory, session)
        patches: dict[str, Record] = {}
        for boot_set in template["boot_sets"].values():
            nodes = selection.nodes_of(boot_set)
            if nodes:
                patch = self._patch(session, template, boot_set)
                patches.update(dict.fromkeys(sorted(nodes), patch))
        if not patches:
            raise SetupFailure("No nodes were found to act upon.")
        return patches

    def _patch(self, session: Record, template: Record, boot_set: Record) -> Record:
        """The patch for all nodes of a boot set."""
        shutdown = session["operation"] == "shutdown"
        desired: Record = {}
        if not shutdown:
            desired["boot_artifacts"] = target_state.artefacts(self._bos, boot_set)
            desired["configuration"] = target_state.configuration(template, boot_set)
        if session.get("stage"):
            staged = NO_STAGED_STATE if shutdown else {**desired, "session": session["name"]}
            return {"error": "", "staged_state": staged}
        patch: Record = {
            "error": "",
            "desired_state": NO_DESIRED_STATE if shutdown else desired,
            "session": session["name"],
            "enabled": True,
            "last_action": {"action": DID_SET_UP, "failed": False},
        }
        return {**patch, "actual_state": NO_ACTUAL_STATE} if session["operation"] == "reboot" else patch

    def _check_unknown_members(self, session: Record, patches: dict[str, Record]) -> None:
        """One node that BOS does not know ends this run for all sessions, as in releases before CSM 1.7."""
        unknown = next((name for name in patches if self._bos.components.is_hidden(name)), None)
        if unknown is None:
            self._logged_causes.pop(session["name"], None)
            return
        cause = f"Component '{unknown}' does not exist"
        if self._logged_causes.get(session["name"]) != cause:
            self._logged_causes[session["name"]] = cause
            self._bos.context.log.add("bos-session-pending", session["name"], cause)
        message = f"Non-2XX response (404) to PATCH http://cray-bos/v2/components; NOT FOUND {cause}"
        raise Failure(API_ERROR, message)
