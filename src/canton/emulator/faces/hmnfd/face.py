"""HMNFD's paths."""

from __future__ import annotations

from canton.emulator.faces.hmnfd.fanout import Fanout
from canton.emulator.faces.hmnfd.hsm import HsmSubscription
from canton.emulator.faces.hmnfd.params import Params
from canton.emulator.faces.hmnfd.subscriptions import Subscriptions
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.hms_base import SNIFFED, encoded
from canton.emulator.wire.routes import Face, Route
from canton.emulator.world import World

VERSIONS = ("/hmi/v1", "/hmi/v2")


def open_face(world: World) -> Face:
    params = Params(world.shelves)
    shelf = world.shelves.open("hmnfd.subscriptions")
    fanout = Fanout(world, params, shelf)
    hsm = HsmSubscription(world, params)
    subscriptions = Subscriptions(shelf, hsm.wants, fanout.gone)

    def health(_: Call) -> Reply:
        return _health(hsm.status(), fanout.waiting_to_be_pruned)

    def restarted() -> None:
        params.reset()
        fanout.restarted()
        hsm.restarted()

    routes = subscriptions.routes()
    for version in VERSIONS:
        routes += [
            Route("POST", version + "/scn", fanout.receive),
            Route("GET", version + "/params", params.get),
            Route("PATCH", version + "/params", params.patch),
            Route("GET", version + "/health", health),
            Route("GET", version + "/liveness", _alive),
            Route("GET", version + "/readiness", _alive),
        ]
    return Face("hmnfd", [("/apis/hmnfd", "")], routes, restarted=restarted)


def _health(subscribed: str, pruned: int) -> Reply:
    told = {
        "KvStore": "Health key value:HMNFD_OK",
        "MsgBus": "Connected and OPEN",
        "HsmSubscriptions": subscribed,
        "PruneMap": f"Number of items:{pruned}" if pruned else "No contents",
        "WorkerPool": "Workers:500, Jobs:0",
    }
    # The Content-Type is set after the header went out, so Go's guess stands.
    return encoded(told, media=SNIFFED)


def _alive(_: Call) -> Reply:
    return Reply(204)
