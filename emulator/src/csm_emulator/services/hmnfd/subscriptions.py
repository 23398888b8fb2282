"""Who wants to hear of what: the old form with everything in the body, and the new one per node and agent."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.dialects.hms.names import hms_type, verified
from csm_emulator.dialects.hms.responses import marshalled, problem
from csm_emulator.records import Json
from csm_emulator.services.hmnfd import requests
from csm_emulator.services.hmnfd.requests import invalid
from csm_emulator.services.hmnfd.subscription import agent_of, make_key, read_key, subscriber_of, xname_of
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

OLD = "/subscribe"
"""How the old form calls itself in its problems."""
EXISTS = "Subscription exists, cannot modify in POST operation"
_DELETE = struct("main.NodeSubscriptionDelete", {"Subscriber": STRING, "Url": STRING})
_CLOSE = [("Connection", "close")]


class Subscriptions:
    """``told`` is called for each new one, ``gone`` with each subscriber whose own went."""

    def __init__(
        self, table: MutableMapping[str, Json], told: Callable[[Json], None], gone: Callable[[str], None]
    ) -> None:
        self._table = table
        self._told = told
        self._gone = gone

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
        return self._listed(sorted(self._table))

    def list_node(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        return self._listed(sorted(key for key in self._table if xname_of(key) == xname))

    def subscribe(self, call: Call) -> Reply:
        wanted = _wanted_in_v1(call)
        if isinstance(wanted, Reply):
            return wanted
        agent, _, xname = wanted["Subscriber"].rpartition("@")
        if not hms_type(xname):
            return invalid("Subcriber field is not a valid XName", OLD)
        return self._add(make_key(wanted, xname, agent), wanted, OLD)

    def subscribe_agent(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        wanted = requests.read(call.body, call.path)
        if isinstance(wanted, Reply):
            return wanted
        if lacking := requests.missing(wanted):
            return invalid(lacking, call.path)
        return self._add(make_key(wanted, xname, call.args["agent"]), wanted, call.path)

    def _add(self, key: str, wanted: Json, instance: str) -> Reply:
        if key in self._table:
            return invalid(EXISTS, instance)
        self._put(key, wanted)
        self._told(wanted)
        return Reply(200, headers=_CLOSE)

    def change(self, call: Call) -> Reply:
        """The first of this subscriber with this URL; when there is none, nothing, which is a success too."""
        wanted = _wanted_in_v1(call)
        if isinstance(wanted, Reply):
            return wanted
        agent, _, xname = wanted["Subscriber"].rpartition("@")
        for key in sorted(self._table):
            if self._table[key]["Url"] == wanted["Url"] and subscriber_of(key) == wanted["Subscriber"]:
                self._replace(key, make_key(wanted, xname, agent), wanted)
                break
        return Reply(200)

    def change_agent(self, call: Call) -> Reply:
        """What the body lacks is not asked for here."""
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        wanted = requests.read(call.body, call.path)
        if isinstance(wanted, Reply):
            return wanted
        agent = call.args["agent"]
        for key in sorted(self._table):
            if xname_of(key) == xname and agent_of(key) == agent:
                self._replace(key, make_key(wanted, xname, agent), wanted)
                break
        return Reply(204)

    def unsubscribe(self, call: Call) -> Reply:
        try:
            said = decode(call.body, _DELETE)
        except DecodeError:
            return requests.type_complaint(call.body, _DELETE, OLD)
        lacking = [invalid(f"Missing {name} field in request", OLD) for name in _DELETE.fields if not said[name]]
        if lacking:
            # It complains of each and goes on, so that two complaints stand in one answer.
            return Reply(400, b"".join(each.body for each in lacking), lacking[0].media)
        for key in sorted(self._table):
            same_url = self._table[key]["Url"].lower() == said["Url"].lower()
            if same_url and subscriber_of(key).lower() == said["Subscriber"].lower():
                self._drop(key)
        return Reply(200)

    def unsubscribe_node(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return _bad_xname(call)
        for key in [key for key in self._table if xname_of(key) == xname]:
            self._drop(key)
        return Reply(204)

    def unsubscribe_agent(self, call: Call) -> Reply:
        xname, agent = verified(call.args["xname"]), call.args["agent"]
        if not xname:
            return _bad_xname(call)
        keys = [key for key in self._table if xname_of(key) == xname and agent_of(key) == agent]
        if not keys:
            return problem(400, "Bad DELETE request", "No matching subscription for DELETE", call.path)
        for key in keys:
            self._drop(key)
        return Reply(204)

    def _listed(self, keys: list[str]) -> Reply:
        return marshalled({"SubscriptionList": [read_key(key, self._table[key]) for key in keys] or None})

    def _replace(self, old: str, new: str, wanted: Json) -> None:
        if old != new:
            del self._table[old]
        self._put(new, wanted)

    def _put(self, key: str, wanted: Json) -> None:
        self._table[key] = {"Url": wanted["Url"], "ScnNodes": wanted["Components"]}

    def _drop(self, key: str) -> None:
        del self._table[key]
        self._gone(subscriber_of(key))


def _bad_xname(call: Call) -> Reply:
    return invalid("Invalid XName in URL path", call.path)


def _wanted_in_v1(call: Call) -> Json | Reply:
    wanted = requests.read(call.body, OLD)
    if isinstance(wanted, Reply):
        return wanted
    lacking = requests.missing_in_v1(wanted)
    return invalid(lacking, OLD) if lacking else wanted
