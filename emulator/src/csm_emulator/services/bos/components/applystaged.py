"""``/applystaged``: the staged state of nodes becomes their desired state."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.connexion import json_reply, read_body, read_parameters
from csm_emulator.records import Record
from csm_emulator.services.bos.components.records import NO_ACTUAL_STATE, NO_ARTEFACTS, NO_STAGED_STATE
from csm_emulator.services.bos.context import Bos
from csm_emulator.services.bos.schemas import APPLY_STAGED
from csm_emulator.services.bos.tenants import HEADER, tenant_of
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

DID_APPLY = "apply_staged"


class _CannotApply(Exception):
    """The staged state cannot be applied; the message becomes the component's error."""


class ApplyStaged:
    def __init__(self, bos: Bos) -> None:
        self._bos = bos

    def routes(self) -> Sequence[Route]:
        return (Route("POST", "/v2/applystaged", self._apply_all),)

    def _apply_all(self, call: Call) -> Reply:
        read_parameters(call, (HEADER,))
        names: list[str] = read_body(call, APPLY_STAGED).get("xnames", [])
        tenant_nodes = self._bos.tenants.members_for(call)
        names_by_outcome: dict[str, list[str]] = {"succeeded": [], "failed": [], "ignored": []}
        if tenant_nodes is not None:
            names_by_outcome["ignored"] = sorted(set(names) - tenant_nodes)
            names = sorted(set(names) & tenant_nodes)
        for name in names:
            names_by_outcome[self._apply(name, tenant_of(call))].append(name)
        return json_reply(names_by_outcome)

    def _apply(self, name: str, tenant: str) -> str:
        if name not in self._bos.components:
            return "ignored"
        record = self._bos.components.get(name)
        session = record.get("staged_state", NO_STAGED_STATE).get("session", "")
        if not session:
            return "ignored"
        try:
            result, outcome = self._with_staged_state(record, session, tenant), "succeeded"
        except _CannotApply as refusal:
            result, outcome = {**record, "error": str(refusal), "enabled": False}, "failed"
        result["session"] = session
        result["last_action"] = {**record.get("last_action", {}), "action": DID_APPLY}
        if self._bos.options.flag("clear_stage"):
            result["staged_state"] = NO_STAGED_STATE
        self._bos.components.put(name, self._bos.auto.with_auto_fields(result))
        return outcome

    def _with_staged_state(self, record: Record, name: str, tenant: str) -> Record:
        session = self._bos.sessions.get(name, tenant)
        context = f"(session: {name}, tenant: {tenant})"
        if session is None:
            raise _CannotApply(f"Staged session no longer exists {context}")
        staged = record["staged_state"]
        operation, artefacts = session["operation"], staged.get("boot_artifacts", {})
        if operation == "shutdown" and any(artefacts.values()):
            raise _CannotApply(f"Staged operation is shutdown but boot artifacts have been specified {context}")
        if operation != "shutdown" and not all(artefacts.values()):
            raise _CannotApply(
                f"Staged operation is {operation} but some boot artifacts have not been specified {context}"
            )
        result = {
            **record,
            "desired_state": {
                "boot_artifacts": staged.get("boot_artifacts", NO_ARTEFACTS),
                "configuration": staged.get("configuration", ""),
            },
            "enabled": True,
        }
        if operation == "reboot":
            result["actual_state"] = NO_ACTUAL_STATE
        return result
