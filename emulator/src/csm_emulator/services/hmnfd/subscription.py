"""The key of a subscription: ``sub#<xname>#hs.<state>…#ss.…#enbl.enbl#roles.…#subroles.…#svc.<agent>``.

Its value has the URL and the components. HMNFD matches a state change by searching for its words in the key.
"""

from __future__ import annotations

from typing import TypedDict

from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, pointer_to, struct
from csm_emulator.records import Json


class Subscription(TypedDict):
    Url: str
    ScnNodes: list[str] | None
    """The components."""


BODY = struct(
    "main.ScnSubscribe",
    {
        "Components": STRINGS,
        "Subscriber": STRING,
        "SubscriberComponent": STRING,
        "SubscriberAgent": STRING,
        "Enabled": pointer_to(BOOL),
        "Roles": STRINGS,
        "SubRoles": STRINGS,
        "SoftwareStatus": STRINGS,
        "States": STRINGS,
        "Url": STRING,
    },
)
_PARTS = {"hs": "States", "ss": "SoftwareStatus", "roles": "Roles", "subroles": "SubRoles"}


def make_key(subscription: Json, xname: str, agent: str) -> str:
    key = f"sub#{xname}"
    for part in ("hs", "ss", "enbl", "roles", "subroles"):
        if part == "enbl":
            key += "#enbl.enbl" if subscription["Enabled"] is not None else ""
        elif subscription[_PARTS[part]]:
            key += f"#{part}." + ".".join(value.lower() for value in subscription[_PARTS[part]])
    return key + (f"#svc.{agent}" if agent else "")


def xname_of(key: str) -> str:
    return key.split("#")[1]


def agent_of(key: str) -> str:
    position = key.find("svc")
    return key[position + 4 :].partition("#")[0] if position > 0 else ""


def subscriber_of(key: str) -> str:
    agent = agent_of(key)
    return f"{agent}@{xname_of(key)}" if "svc" in key else xname_of(key)


def read_key(key: str, value: Subscription) -> Json:
    """The subscription in the form of the API, without empty fields."""
    xname = xname_of(key)
    fields: dict[str, Json] = {"Components": value["ScnNodes"], "Subscriber": xname}
    for part in key.split("#")[2:]:
        name, *values = part.split(".")
        if name in _PARTS:
            fields[_PARTS[name]] = [*(fields.get(_PARTS[name]) or ()), *values]
        elif name == "enbl":
            fields["Enabled"] = True
        elif name == "svc" and values:
            agent = values[0]
            fields |= {"Subscriber": f"{agent}@{xname}", "SubscriberComponent": xname, "SubscriberAgent": agent}
    return {name: fields[name] for name in BODY.fields if fields.get(name)} | {"Url": value["Url"]}
