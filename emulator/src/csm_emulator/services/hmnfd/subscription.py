"""A subscription is a key that says it all: ``sub#<xname>#hs.<state>…#ss.…#enbl.enbl#roles.…#subroles.…#svc.<agent>``.

Its value says where to and about whom. State changes are matched against the text of the key, and by nothing finer.
"""

from __future__ import annotations

from csm_emulator.dialects.go_json.types import BOOL, STRING, STRINGS, pointer_to, struct
from csm_emulator.records import Json

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


def make_key(wanted: Json, xname: str, agent: str) -> str:
    key = f"sub#{xname}"
    for part in ("hs", "ss", "enbl", "roles", "subroles"):
        if part == "enbl":
            key += "#enbl.enbl" if wanted["Enabled"] is not None else ""
        elif wanted[_PARTS[part]]:
            key += f"#{part}." + ".".join(value.lower() for value in wanted[_PARTS[part]])
    return key + (f"#svc.{agent}" if agent else "")


def xname_of(key: str) -> str:
    return key.split("#")[1]


def agent_of(key: str) -> str:
    found = key.find("svc")
    return key[found + 4 :].partition("#")[0] if found > 0 else ""


def subscriber_of(key: str) -> str:
    agent = agent_of(key)
    return f"{agent}@{xname_of(key)}" if "svc" in key else xname_of(key)


def read_key(key: str, value: Json) -> Json:
    """As the API shows it; what is empty is left out."""
    xname = xname_of(key)
    told: dict[str, Json] = {"Components": value["ScnNodes"], "Subscriber": xname}
    for part in key.split("#")[2:]:
        name, *values = part.split(".")
        if name in _PARTS:
            told[_PARTS[name]] = [*(told.get(_PARTS[name]) or ()), *values]
        elif name == "enbl":
            told["Enabled"] = True
        elif name == "svc" and values:
            agent = values[0]
            told |= {"Subscriber": f"{agent}@{xname}", "SubscriberComponent": xname, "SubscriberAgent": agent}
    return {name: told[name] for name in BODY.fields if told.get(name)} | {"Url": value["Url"]}
