"""The routes of subscriptions: v1 with everything in the body, v2 with node and agent in the path."""

from __future__ import annotations

from collections.abc import Callable

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.dialects.hms.names import hms_type, verified
from csm_emulator.dialects.hms.responses import marshalled, problem
from csm_emulator.records import Json
from csm_emulator.services.hmnfd import requests
from csm_emulator.services.hmnfd.requests import invalid
from csm_emulator.services.hmnfd.subscription import Subscription, agent_of, make_key, read_key, subscriber_of, xname_of
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

V1_INSTANCE = "/subscribe"
"""The instance in the problem documents of v1."""
EXISTS = "Subscription exists, cannot modify in POST operation"
_DELETE = struct("main.NodeSubscriptionDelete", {"Subscriber": STRING, "Url": STRING})
_CLOSE = [("Connection", "close")]


class Subscriptions:
    """``on_subscribe`` gets each new subscription, ``on_unsubscribe`` the subscriber of each removed one."""

    def __init__(
        self,
        table: RecordTable[Subscription],
        on_subscribe: Callable[[Json], None],
        on_unsubscribe: Callable[[str], None],
    ) -> None:
        self._table = table
        self._on_subscribe = on_subscribe
        self._on_unsubscribe = on_unsubscribe

    def routes_v1(self) -> list[Route]:
        return [
            Route("POST", "/hmi/v1/subscribe", self.subscribe),
            Route("PATCH", "/hmi/v1/subscribe", self.change),
            Route("DELETE", "/hmi/v1/subscribe", self.unsubscribe),
        ]

    def routes_v2(self) -> list[Route]:
        one = "/hmi/v2/subscriptions/{xname}"
        return [
            Route("GET", one, self.list_node),
            Route("POST", one + "/agents/{agent}", self.subscribe_agent),
            Route("PATCH", one + "/agents/{agent}", self.change_agent),
            Route("DELETE", one + "/agents/{agent}", self.unsubscribe_agent),
            Route("DELETE", one + "/agents", self.unsubscribe_node),
        ]

    def list_all(self, _: Call) -> Reply:
        return self._list_reply(sorted(self._table))

    def list_node(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        return self._list_reply(sorted(key for key in self._table if xname_of(key) == xname))

    def subscribe(self, call: Call) -> Reply:
        subscription = _subscription_in_v1(call)
        if isinstance(subscription, Reply):
            return subscription
        agent, _, xname = subscription["Subscriber"].rpartition("@")
        if not hms_type(xname):
            return invalid("Subcriber field is not a valid XName", V1_INSTANCE)
        return self._add(make_key(subscription, xname, agent), subscription, V1_INSTANCE)

    def subscribe_agent(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        subscription = requests.read_subscription(call.body, call.path)
        if isinstance(subscription, Reply):
            return subscription
        if error := requests.missing_field(subscription):
            return invalid(error, call.path)
        return self._add(make_key(subscription, xname, call.args["agent"]), subscription, call.path)

    def _add(self, key: str, subscription: Json, instance: str) -> Reply:
        if key in self._table:
            return invalid(EXISTS, instance)
        self._put(key, subscription)
        self._on_subscribe(subscription)
        return Reply(200, headers=_CLOSE)

    def change(self, call: Call) -> Reply:
        """Change the first subscription of this subscriber with this URL; without one it succeeds too."""
        subscription = _subscription_in_v1(call)
        if isinstance(subscription, Reply):
            return subscription
        agent, _, xname = subscription["Subscriber"].rpartition("@")
        for key in sorted(self._table):
            if self._table[key]["Url"] == subscription["Url"] and subscriber_of(key) == subscription["Subscriber"]:
                self._replace(key, make_key(subscription, xname, agent), subscription)
                break
        return Reply(200)

    def change_agent(self, call: Call) -> Reply:
        """Change the first subscription of this agent; missing fields are not checked here."""
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        subscription = requests.read_subscription(call.body, call.path)
        if isinstance(subscription, Reply):
            return subscription
        agent = call.args["agent"]
        for key in sorted(self._table):
            if xname_of(key) == xname and agent_of(key) == agent:
                self._replace(key, make_key(subscription, xname, agent), subscription)
                break
        return Reply(204)

    def unsubscribe(self, call: Call) -> Reply:
        try:
            request = decode(call.body, _DELETE)
        except DecodeError:
            return requests.type_error(call.body, _DELETE, V1_INSTANCE)
        errors = [
            invalid(f"Missing {name} field in request", V1_INSTANCE) for name in _DELETE.fields if not request[name]
        ]
        if errors:
            # HMNFD continues after an error, so that a reply may have two problem documents.
            return Reply(400, b"".join(error.body for error in errors), errors[0].media)
        for key in sorted(self._table):
            same_url = self._table[key]["Url"].lower() == request["Url"].lower()
            if same_url and subscriber_of(key).lower() == request["Subscriber"].lower():
                self._remove(key)
        return Reply(200)

    def unsubscribe_node(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        for key in [key for key in self._table if xname_of(key) == xname]:
            self._remove(key)
        return Reply(204)

    def unsubscribe_agent(self, call: Call) -> Reply:
        xname, agent = verified(call.args["xname"]), call.args["agent"]
        if not xname:
            return _bad_xname(call)
        keys = [key for key in self._table if xname_of(key) == xname and agent_of(key) == agent]
        if not keys:
            return problem(400, "Bad DELETE request", "No matching subscription for DELETE", call.path)
        for key in keys:
            self._remove(key)
        return Reply(204)

    def _list_reply(self, keys: list[str]) -> Reply:
        return marshalled({"SubscriptionList": [read_key(key, self._table[key]) for key in keys] or None})

    def _replace(self, old: str, new: str, subscription: Json) -> None:
        if old != new:
            del self._table[old]
        self._put(new, subscription)

    def _put(self, key: str, subscription: Json) -> None:
        self._table[key] = {"Url": subscription["Url"], "ScnNodes": subscription["Components"]}

    def _remove(self, key: str) -> None:
        del self._table[key]
        self._on_unsubscribe(subscriber_of(key))


def _bad_xname(call: Call) -> Reply:
    return invalid("Invalid XName in URL path", call.path)


def _subscription_in_v1(call: Call) -> Json | Reply:
    subscription = requests.read_subscription(call.body, V1_INSTANCE)
    if isinstance(subscription, Reply):
        return subscription
    error = requests.missing_field_in_v1(subscription)
    return invalid(error, V1_INSTANCE) if error else subscription
