"""``/Subscriptions/SCN``: the URLs to which SMD posts changes of states, roles, software statuses and ``Enabled``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, GoType, pointer_to, struct
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.enums import ROLE, STATE, SUB_ROLE, spelled
from csm_emulator.services.smd.errors import with_body
from csm_emulator.services.smd.postgres_text import storable
from csm_emulator.services.smd.responses import json_reply, message, no_content, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler, Route

BASE = "/hsm/v2/Subscriptions/SCN"
LISTS = ("Roles", "SubRoles", "SoftwareStatus", "States")
TRIGGERS: Mapping[str, GoType] = {"Enabled": pointer_to(BOOL), **dict.fromkeys(LISTS, STRINGS)}
NEW = struct("sm.SCNPostSubscription", {"Subscriber": STRING, **TRIGGERS, "Url": STRING})
PATCH = struct("sm.SCNPatchSubscription", {"Op": STRING, **TRIGGERS})
FIELDS = ("Subscriber", *TRIGGERS, "Url")
PAYLOAD = ("Enabled", "Flag", "Role", "SubRole", "SoftwareStatus", "State")
TRIGGER_FIELDS = (("State", "States"), ("Role", "Roles"), ("SubRole", "SubRoles"), ("SoftwareStatus", "SoftwareStatus"))
"""Field of a change → field of a subscription. The first that a change has decides which subscriptions match."""
_KEY_WIDTH = 255
_MAX_ID = (1 << 31) - 1
"""The largest 32-bit integer of the database."""
_ID = re.compile(r"[+-]?[0-9]+")
_SERVICE_HOST = re.compile(r"(?:cray-)?([a-z0-9-]+)")
_NO_TRIGGER = "atleast one Enabled, Role, SubRole, SoftwareStatus, or State trigger."


class Subscriptions:
    def __init__(self, hsm: Hsm) -> None:
        self._hsm = hsm
        self._table: RecordTable[Record] = hsm.context.tables.open("smd.subscriptions")
        self._last_id: RecordTable[int] = hsm.context.tables.open("smd.subscriptions.numbers")

    def list(self, _: Call) -> Reply:
        # An empty list is nil in Go, and null on the wire.
        subscriptions = [_on_wire(int(key), record) for key, record in self._table.items()]
        return json_reply({"SubscriptionList": subscriptions or None})

    def create(self, _: Call, body: Json) -> Reply:
        error = _subscription_error(body)
        if error:
            return problem(400, error)
        # A failed insert uses up its number, as with PostgreSQL's sequences.
        number = self._last_id.get("last", 0) + 1
        if not storable(_key(body)) or len(_key(body)) > _KEY_WIDTH:
            return problem(400, "Subscribe failed")
        self._last_id["last"] = number
        if self._is_duplicate(body):
            return problem(400, "Subscribe failed")
        self._table[str(number)] = _stored(body)
        return json_reply(_on_wire(number, body))

    def delete_all(self, _: Call) -> Reply:
        count = len(self._table)
        self._table.clear()
        return message(f"{count} Subscriptions deleted")

    def read(self, call: Call) -> Reply:
        number = int(call.args["id"])
        if number > _MAX_ID:
            return problem(500, "failed to query DB.")
        record = self._table.get(str(number))
        return json_reply(_on_wire(number, record)) if record else problem(404, "Subscription not found")

    def replace(self, call: Call, body: Json) -> Reply:
        number = int(call.args["id"])
        error = _subscription_error(body)
        if error:
            return problem(400, error)
        if number > _MAX_ID or not storable(_key(body)) or len(_key(body)) > _KEY_WIDTH:
            return problem(400, "Subscription update failed")
        if str(number) not in self._table:
            return problem(404, "Subscription not found")
        if self._is_duplicate(body, str(number)):
            return problem(400, "Subscription update failed")
        self._table[str(number)] = _stored(body)
        return no_content()

    def change(self, call: Call, body: Json) -> Reply:
        number = int(call.args["id"])
        change = _CHANGES.get(body["Op"].lower())
        if change is None:
            return problem(400, f"Invalid Patch Op - {body['Op']}" if body["Op"] else "Missing Patch Op")
        error = _trigger_error(body, f"Missing trigger. Subscriptions must have {_NO_TRIGGER}")
        if error:
            return problem(400, error)
        if number > _MAX_ID:
            return problem(400, "Subscription patch failed")
        record = self._table.get(str(number))
        if record is None:
            return problem(404, "Subscription not found")
        self._table[str(number)] = _stored(change(record, body))
        return no_content()

    def delete(self, call: Call) -> Reply:
        number = int(call.args["id"])
        if number > _MAX_ID:
            return problem(400, "Unsubscribe failed")
        if self._table.pop(str(number), None) is None:
            return problem(404, "Subscription not found")
        return message("Subscription deleted")

    def _is_duplicate(self, body: Json, except_id: str = "") -> bool:
        """Whether another subscription has the same subscriber and URL, which together are unique."""
        return any(key != except_id and _key(record) == _key(body) for key, record in self._table.items())

    def notify(self, xnames: Sequence[str], change: Mapping[str, Json]) -> None:
        payload = {"Components": list(xnames)}
        payload |= {name: change[name] for name in PAYLOAD if name in change and change[name] not in ("", None)}
        for url in self._subscriber_urls(change):
            self._send(url, payload)

    def _subscriber_urls(self, change: Mapping[str, Json]) -> Sequence[str]:
        """The URLs that get this change, each once, even when several subscriptions name it."""
        trigger = next(((field, change[name].lower()) for name, field in TRIGGER_FIELDS if change.get(name)), None)
        urls: dict[str, None] = {}
        for record in self._table.values():
            if trigger is None:
                matches = change.get("Enabled") is not None and record["Enabled"]
            else:
                matches = trigger[1] in (value.lower() for value in record[trigger[0]] or ())
            if matches:
                urls[record["Url"]] = None
        return list(urls)

    def _send(self, url: str, payload: Json) -> None:
        """Services of the cluster are called directly, other URLs over the network."""
        try:
            parts = urlsplit(url)
        except ValueError:
            # SMD does not check the URL when it is stored; an invalid one gets no messages.
            return
        service = _SERVICE_HOST.fullmatch(parts.hostname or "")
        if service and service[1] in CLUSTER_SERVICES:
            self._hsm.context.mesh.ask(service[1], "POST", parts.path, payload)
        else:
            self._hsm.context.post(url, payload)


CLUSTER_SERVICES = frozenset({"hmnfd", "bss", "hbtd", "pcs", "capmc"})


def _on_wire(number: int, record: Json) -> Json:
    fields = {name: record[name] for name in FIELDS if record[name] or name in ("Subscriber", "Url")}
    if record["Enabled"] is False:
        fields = {
            "Subscriber": record["Subscriber"],
            "Enabled": False,
            **{k: v for k, v in fields.items() if k != "Subscriber"},
        }
    return {"ID": number, **fields}


def _stored(body: Json) -> Json:
    return {name: body[name] for name in FIELDS}


def _key(body: Json) -> str:
    return f"{body['Subscriber']}{body['Url']}"


def _with_valid_id(handler: Handler) -> Handler:
    """The handler, preceded by SMD's check of the number in the path."""

    def handle(call: Call) -> Reply:
        text = call.args["id"]
        valid = _ID.fullmatch(text) and len(text) < 20 and 1 <= int(text) < 1 << 63
        return handler(call) if valid else problem(400, f"Invalid id - {text}")

    return handle


def _subscription_error(body: Json) -> str:
    if not body["Subscriber"]:
        return "Missing name of subscriber"
    if not body["Url"]:
        return "Missing url"
    return _trigger_error(body, f"Missing trigger. Must subscribe to {_NO_TRIGGER}")


def _trigger_error(body: Json, missing: str) -> str:
    for name, table, word in (("Roles", ROLE, "role"), ("SubRoles", SUB_ROLE, "subRole")):
        for text in body[name] or ():
            if not spelled(table, text):
                return f"Invalid {word} '{text}'"
    if "" in (body["SoftwareStatus"] or ()):
        return "SoftwareStatus can not be an empty string"
    for text in body["States"] or ():
        if not spelled(STATE, text):
            return f"Invalid state '{text}'"
    return "" if body["Enabled"] or any(body[name] for name in LISTS) else missing


def _add(record: Json, patch: Json) -> Json:
    added = {
        name: [
            *(record[name] or ()),
            *dict.fromkeys(value for value in patch[name] or () if value not in (record[name] or ())),
        ]
        for name in LISTS
    }
    enabled = True if patch["Enabled"] and record["Enabled"] is False else record["Enabled"]
    return {**record, **added, "Enabled": enabled}


def _remove(record: Json, patch: Json) -> Json:
    remaining = {name: [value for value in record[name] or () if value not in (patch[name] or ())] for name in LISTS}
    enabled = False if patch["Enabled"] and record["Enabled"] else record["Enabled"]
    return {**record, **remaining, "Enabled": enabled}


def _replace(record: Json, patch: Json) -> Json:
    replaced = {name: patch[name] for name in LISTS if patch[name]}
    enabled = record["Enabled"] if patch["Enabled"] is None else patch["Enabled"]
    return {**record, **replaced, "Enabled": enabled}


_CHANGES = {"add": _add, "remove": _remove, "replace": _replace}


def routes(hsm: Hsm) -> Sequence[Route]:
    subscriptions = Subscriptions(hsm)
    hsm.change_listeners.append(subscriptions.notify)
    one = f"{BASE}/{{id}}"
    return (
        Route("GET", BASE, subscriptions.list),
        Route("POST", BASE, with_body(NEW, subscriptions.create)),
        Route("DELETE", BASE, subscriptions.delete_all),
        Route("GET", one, _with_valid_id(subscriptions.read)),
        Route("PUT", one, _with_valid_id(with_body(NEW, subscriptions.replace))),
        Route("PATCH", one, _with_valid_id(with_body(PATCH, subscriptions.change))),
        Route("DELETE", one, _with_valid_id(subscriptions.delete)),
    )
