"""The few answers of HSM that PCS and CAPMC live on, until SMD's own face is there."""

from __future__ import annotations

from typing import Any

from canton.emulator.wire.call import Call, Reply, json_reply
from canton.emulator.wire.routes import Face, Route
from canton.emulator.world import World

BASE = "/hsm/v2"
LOCKS = f"{BASE}/locks/service/reservations"


class StandIn:
    def __init__(self, world: World) -> None:
        self.site = world
        self.locked: set[str] = set()
        self.held: dict[str, tuple[str, str]] = {}
        self.asked: list[str] = []
        self.maps: list[Any] = []
        self.gone: set[str] = set()

    def face(self) -> Face:
        routes = [
            Route("GET", f"{BASE}/State/Components", self.components),
            Route("POST", f"{BASE}/State/Components/Query", self.query),
            Route("GET", f"{BASE}/sysinfo/powermaps", lambda _: json_reply(self.maps)),
            Route("GET", f"{BASE}/service/liveness", lambda _: Reply(204)),
            Route("GET", f"{BASE}/service/ready", lambda _: json_reply({"code": 0, "message": "HSM is healthy"})),
            Route("POST", LOCKS, self.reserve),
            Route("POST", f"{BASE}/locks/lock", self.lock),
            Route("POST", f"{BASE}/locks/status", self.status),
            Route("DELETE", f"{BASE}/State/Components/{{x}}", self.forget),
            Route("GET", f"{BASE}/State/Components/Query/{{x}}", self.below),
            Route("POST", f"{LOCKS}/renew", self.renew),
            Route("POST", f"{LOCKS}/check", self.check),
            Route("POST", f"{LOCKS}/release", self.release),
        ]
        return Face("smd", [], routes)

    def component(self, xname: str) -> dict[str, Any]:
        part = self.site.machine.part(xname)
        assert part is not None
        place = self.site.machine.place(xname)
        found = {
            "ID": xname,
            "Type": part.type,
            "State": "Ready",
            "Flag": "OK",
            "Enabled": True,
            "Class": part.hardware_class,
        }
        return found | ({"Role": place.role, "NID": place.nid} if place else {})

    def components(self, call: Call) -> Reply:
        self.asked.append("components")
        ids, nids = call.all("id"), call.all("nid")
        found = [self.component(p.xname) for p in self.site.machine.parts() if p.xname not in self.gone]
        if ids:
            found = [c for c in found if c["ID"] in ids]
        if nids:
            found = [c for c in found if str(c.get("NID")) in nids]
        kinds = {kind.lower() for kind in call.all("type")}
        if kinds:
            found = [c for c in found if c["Type"].lower() in kinds]
        return json_reply({"Components": found})

    def query(self, call: Call) -> Reply:
        self.asked.append("query")
        names = [x for x in call.json()["ComponentIDs"] if self.site.machine.part(x) and x not in self.gone]
        return json_reply({"Components": [self.component(x) for x in names]})

    def reserve(self, call: Call) -> Reply:
        self.asked.append("reserve")
        body = call.json()
        names = body["ComponentIDs"]
        free = [x for x in names if x not in self.locked and x not in self.held]
        if body["ProcessingModel"] == "rigid" and len(free) < len(names):
            return json_reply({"detail": "cannot reserve"}, 400)
        for x in free:
            self.held[x] = (f"{x}:rk:1", f"{x}:dk:1")
        success = [
            {"ID": x, "ReservationKey": self.held[x][0], "DeputyKey": self.held[x][1], "ExpirationTime": ""}
            for x in free
        ]
        return json_reply(
            {"Success": success, "Failure": [{"ID": x, "Reason": "Reserved"} for x in names if x not in free]}
        )

    def renew(self, call: Call) -> Reply:
        self.asked.append("renew")
        keys = call.json()["ReservationKeys"]
        good = [k["ID"] for k in keys if self.held.get(k["ID"], ("", ""))[0] == k["Key"]]
        return json_reply({"Counts": {}, "Success": {"ComponentIDs": good}, "Failure": []})

    def check(self, call: Call) -> Reply:
        self.asked.append("check")
        keys = call.json()["DeputyKeys"]
        good = [k for k in keys if self.held.get(k["ID"], ("", ""))[1] == k["Key"]]
        return json_reply({"Success": [{"ID": k["ID"], "DeputyKey": k["Key"]} for k in good], "Failure": []})

    def release(self, call: Call) -> Reply:
        self.asked.append("release")
        for key in call.json()["ReservationKeys"]:
            self.held.pop(key["ID"], None)
        return json_reply({"Counts": {}, "Success": {"ComponentIDs": []}, "Failure": []})

    def lock(self, call: Call) -> Reply:
        self.locked |= set(call.json()["ComponentIDs"])
        return json_reply({})

    def status(self, call: Call) -> Reply:
        return json_reply({"Components": [{"ID": x, "Reserved": x in self.held} for x in call.json()["ComponentIDs"]]})

    def forget(self, call: Call) -> Reply:
        self.gone.add(call.args["x"])
        return json_reply({})

    def below(self, call: Call) -> Reply:
        x = call.args["x"]
        kinds = {kind.lower() for kind in call.all("type")}
        found = [p.xname for p in self.site.machine.parts() if p.xname.startswith(x) and p.type.lower() in kinds]
        return json_reply({"Components": [self.component(x) for x in found]})
