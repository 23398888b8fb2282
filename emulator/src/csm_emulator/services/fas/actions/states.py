"""The state machines of actions and operations: for each event, the states that it is allowed in, and the next."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.records import Json

Table = Mapping[str, tuple[tuple[str, ...], str]]

ACTION: Table = {
    "configure": (("new",), "configured"),
    "block": (("configured",), "blocked"),
    "unblock": (("blocked",), "configured"),
    "start": (("configured",), "running"),
    "finish": (("new", "configured", "running"), "completed"),
    "signalAbort": (("running", "configured", "new", "blocked"), "abortSignaled"),
    "abort": (("abortSignaled",), "aborted"),
}
OPERATION: Table = {
    "configure": (("initial",), "configured"),
    "block": (("initial", "configured"), "blocked"),
    "unblock": (("blocked",), "configured"),
    "start": (("configured",), "inProgress"),
    "restart": (("inProgress",), "inProgress"),
    "needsVerify": (("inProgress",), "needsVerified"),
    "verifying": (("needsVerified",), "verifying"),
    "reverifying": (("verifying",), "verifying"),
    "abort": (("configured", "initial", "inProgress", "needsVerified", "verifying", "blocked"), "aborted"),
    "noop": (("initial",), "noOperation"),
    "nosol": (("configured", "initial", "inProgress"), "noSolution"),
    "success": (("inProgress", "verifying"), "succeeded"),
    "fail": (("initial", "configured", "inProgress", "verifying", "needsVerified"), "failed"),
}
OPERATION_STATES = (
    "initial",
    "configured",
    "blocked",
    "inProgress",
    "needsVerified",
    "verifying",
    "failed",
    "succeeded",
    "noOperation",
    "noSolution",
    "aborted",
    "unknown",
)
ENDED_STATES = ("failed", "succeeded", "noOperation", "noSolution", "aborted")


def can(table: Table, record: Json, event: str) -> bool:
    return record["state"] in table[event][0]


def after(table: Table, record: Json, event: str, **changes: Json) -> Json:
    """The record after the event. The state stays when the event is not allowed in it."""
    state = table[event][1] if can(table, record, event) else record["state"]
    return {**record, "state": state, **changes}
