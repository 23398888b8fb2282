"""The routes of HMNFD."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.dialects.hms.responses import SNIFFED, encoded
from csm_emulator.records import Record
from csm_emulator.services.hmnfd.fanout import Fanout
from csm_emulator.services.hmnfd.hsm_subscription import HsmSubscription
from csm_emulator.services.hmnfd.parameters import Params
from csm_emulator.services.hmnfd.subscription import Subscription
from csm_emulator.services.hmnfd.subscriptions import Subscriptions
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route

VERSIONS = ("/hmi/v1", "/hmi/v2")


def create_service(context: Context) -> EmulatedService:
    params = Params(context.tables)
    table: RecordTable[Subscription] = context.tables.open("hmnfd.subscriptions")
    fanout = Fanout(context, params, table)
    hsm = HsmSubscription(context, params)
    subscriptions = Subscriptions(table, hsm.extend, fanout.remove_subscriber)

    def health(_: Call) -> Reply:
        return _health(hsm.status(), fanout.waiting_to_be_pruned)

    def restarted() -> None:
        params.reset()
        fanout.restarted()
        hsm.restarted()

    # In HMNFD's own order: whether a wrong method is 404 or 405 depends on it.
    one, two = (
        [*_service(base, params, health), Route("GET", f"{base}/subscriptions", subscriptions.list_all)]
        for base in VERSIONS
    )
    scn_one, scn_two = (Route("POST", f"{base}/scn", fanout.receive) for base in VERSIONS)
    routes = [*one, scn_one, *subscriptions.routes_v1(), *two, *subscriptions.routes_v2(), scn_two]
    mux = Mux(routes)
    return EmulatedService(
        "hmnfd", [("/apis/hmnfd", "")], settle(routes), mux.not_found, mux.wrong_method, restarted=restarted
    )


def _service(base: str, params: Params, health: Handler) -> list[Route]:
    return [
        Route("GET", f"{base}/params", params.get),
        Route("PATCH", f"{base}/params", params.patch),
        Route("GET", f"{base}/liveness", _alive),
        Route("GET", f"{base}/readiness", _alive),
        Route("GET", f"{base}/health", health),
    ]


def _health(subscribed: str, pruned: int) -> Reply:
    health = {
        "KvStore": "Health key value:HMNFD_OK",
        "MsgBus": "Connected and OPEN",
        "HsmSubscriptions": subscribed,
        "PruneMap": f"Number of items:{pruned}" if pruned else "No contents",
        "WorkerPool": "Workers:500, Jobs:0",
    }
    # HMNFD sets the Content-Type after the header was sent, so Go's guess stays.
    return encoded(health, media=SNIFFED)


def _alive(_: Call) -> Reply:
    return Reply(204)
