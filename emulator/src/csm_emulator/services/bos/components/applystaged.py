"""``/applystaged``: what was staged for nodes becomes what is wanted of them."""

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


class _Refusal(Exception):
    """Why what is staged cannot be applied; it becomes the component's error."""


class ApplyStaged:
    def __init__(self, bos: Bos) -> None:
        self._bos = bos

    def routes(self) -> Sequence[Route]:
        return (Route("POST", "/v2/applystaged", self._apply_all),)

    def _apply_all(self, call: Call) -> Reply:
        read_parameters(call, (HEADER,))
        asked: list[str] = read_body(call, APPLY_STAGED).get("xnames", [])
        theirs = self._bos.tenants.members_for(call)
        told: dict[str, list[str]] = {"succeeded": [], "failed": [], "ignored": []}
        if theirs is not None:
            told["ignored"] = sorted(set(asked) - theirs)
            asked = sorted(set(asked) & theirs)
        for name in asked:
            told[self._apply(name, tenant_of(call))].append(name)
        return json_reply(told)

    def _apply(self, name: str, tenant: str) -> str:
        if name not in self._bos.components:
            return "ignored"
        record = self._bos.components.get(name)
        session = record.get("staged_state", NO_STAGED_STATE).get("session", "")
        if not session:
            return "ignored"
        try:
            result, outcome = self._applied(record, session, tenant), "succeeded"
        except _Refusal as refusal:
            result, outcome = {**record, "error": str(refusal), "enabled": False}, "failed"
        result["session"] = session
        result["last_action"] = {**record.get("last_action", {}), "action": DID_APPLY}
        if self._bos.options.flag("clear_stage"):
            result["staged_state"] = NO_STAGED_STATE
        self._bos.components.put(name, self._bos.auto.added(result))
        return outcome

    def _applied(self, record: Record, name: str, tenant: str) -> Record:
        session = self._bos.sessions.get(name, tenant)
        about = f"(session: {name}, tenant: {tenant})"
        if session is None:
            raise _Refusal(f"Staged session no longer exists {about}")
        staged = record["staged_state"]
        operation, artefacts = session["operation"], staged.get("boot_artifacts", {})
        if operation == "shutdown" and any(artefacts.values()):
            raise _Refusal(f"Staged operation is shutdown but boot artifacts have been specified {about}")
        if operation != "shutdown" and not all(artefacts.values()):
            raise _Refusal(f"Staged operation is {operation} but some boot artifacts have not been specified {about}")
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
