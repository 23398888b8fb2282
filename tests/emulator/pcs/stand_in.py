"""HSM's locks and reservations, until SMD's own are there."""

from __future__ import annotations

from canton.emulator.wire.call import Call, Reply, json_reply
from canton.emulator.wire.routes import Route
from canton.emulator.world import World

BASE = "/hsm/v2"
LOCKS = f"{BASE}/locks/service/reservations"


class StandIn:
    def __init__(self, world: World) -> None:
        self.locked = world.shelves.open("standin.locked")
        self.held = world.shelves.open("standin.held")
        self.world = world

    def routes(self) -> list[Route]:
        return [
            Route("POST", LOCKS, self.reserve),
            Route("POST", f"{BASE}/locks/lock", self.lock),
            Route("POST", f"{BASE}/locks/status", self.status),
            Route("POST", f"{LOCKS}/renew", self.renew),
            Route("POST", f"{LOCKS}/check", self.check),
            Route("POST", f"{LOCKS}/release", self.release),
        ]

    def alive(self, x: str) -> bool:
        return x in self.held and self.held[x][2] > self.world.clock.now()

    def reserve(self, call: Call) -> Reply:
        body = call.json()
        names = body["ComponentIDs"]
        free = [x for x in names if x not in self.locked and not self.alive(x)]
        if body["ProcessingModel"] == "rigid" and len(free) < len(names):
            return json_reply({"detail": "cannot reserve"}, 400)
        until = self.world.clock.now() + 60 * body["ReservationDuration"]
        for x in free:
            self.held[x] = [f"{x}:rk:1", f"{x}:dk:1", until]
        success = [{"ID": x, "ReservationKey": self.held[x][0], "DeputyKey": self.held[x][1]} for x in free]
        failure = [{"ID": x, "Reason": "Reserved"} for x in names if x not in set(free)]
        return json_reply({"Success": success, "Failure": failure})

    def renew(self, call: Call) -> Reply:
        body = call.json()
        until = self.world.clock.now() + 60 * body["ReservationDuration"]
        good = [k["ID"] for k in body["ReservationKeys"] if self.alive(k["ID"]) and self.held[k["ID"]][0] == k["Key"]]
        for x in good:
            self.held[x] = [*self.held[x][:2], until]
        return json_reply({"Counts": {}, "Success": {"ComponentIDs": good}, "Failure": []})

    def check(self, call: Call) -> Reply:
        keys = call.json()["DeputyKeys"]
        good = [k for k in keys if self.alive(k["ID"]) and self.held[k["ID"]][1] == k["Key"]]
        return json_reply({"Success": [{"ID": k["ID"], "DeputyKey": k["Key"]} for k in good], "Failure": []})

    def release(self, call: Call) -> Reply:
        for key in call.json()["ReservationKeys"]:
            self.held.pop(key["ID"], None)
        return json_reply({"Counts": {}, "Success": {"ComponentIDs": []}, "Failure": []})

    def lock(self, call: Call) -> Reply:
        self.locked.update(dict.fromkeys(call.json()["ComponentIDs"], 1))
        return json_reply({})

    def status(self, call: Call) -> Reply:
        return json_reply({"Components": [{"ID": x, "Reserved": self.alive(x)} for x in call.json()["ComponentIDs"]]})
