"""``/power-cap``: requests to read caps (snapshots) and to set them (patches), and the tasks that carry them out."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.go_json.types import INT, STRING, STRINGS, slice_of, struct
from csm_emulator.records import Json
from csm_emulator.services.pcs.power_caps.tasks import PATCH, SNAPSHOT, CapTasks
from csm_emulator.services.pcs.problems import Refusal, marshalled, read_uuid
from csm_emulator.services.pcs.request_bodies import read
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_SNAPSHOT = struct("model.PowerCapSnapshotParameter", {"xnames": STRINGS})
_CONTROL = struct("model.PowerCapControlParameter", {"name": STRING, "value": INT})
_COMPONENT = struct("model.PowerCapComponentParameter", {"xname": STRING, "controls": slice_of(_CONTROL)})
_PATCH = struct("model.PowerCapPatchParameter", {"components": slice_of(_COMPONENT)})


class PowerCap:
    def __init__(self, tasks: CapTasks) -> None:
        self._tasks = tasks

    def routes(self) -> Sequence[Route]:
        return (
            Route("POST", "/power-cap/snapshot", self._snapshot),
            Route("PATCH", "/power-cap", self._patch),
            Route("GET", "/power-cap", self._list),
            Route("GET", "/power-cap/{taskID}", self._show),
        )

    def _snapshot(self, call: Call) -> Reply:
        names = read(call.body, _SNAPSHOT)["xnames"]
        if not names:
            raise Refusal(400, "Xname list is empty. A list of xnames is required")
        return _created(self._tasks.create(SNAPSHOT, [[name, {}] for name in names]))

    def _patch(self, call: Call) -> Reply:
        components = read(call.body, _PATCH)["components"] or []
        invalid_xnames = [
            component["xname"] for component in components if any(map(_is_invalid, component["controls"] or ()))
        ]
        if invalid_xnames:
            raise Refusal(
                400, "Invalid control parameters for xnames detected " + "".join(f"{x} " for x in invalid_xnames)
            )
        requested_caps = [
            [component["xname"], {c["name"]: c["value"] for c in component["controls"] or ()}]
            for component in components
        ]
        return _created(self._tasks.create(PATCH, requested_caps))

    def _list(self, _: Call) -> Reply:
        return marshalled({"tasks": self._tasks.all()})

    def _show(self, call: Call) -> Reply:
        return marshalled(self._tasks.show(read_uuid(call.args["taskID"])))


def _is_invalid(control: Json) -> bool:
    return not control["name"] or control["value"] < 0


def _created(identity: str) -> Reply:
    return marshalled({"taskID": identity}, headers=(("Location", f"../power-cap/{identity}"),))
