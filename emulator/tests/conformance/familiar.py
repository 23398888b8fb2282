"""Puts things that are there into requests that are made up: without them nearly all would be refused."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from random import Random
from typing import Any

from conformance.names import Names

OFTEN, HALF, SELDOM = 0.8, 0.5, 0.2
TENANT = "Cray-Tenant-Name"


def make_familiar(case: Any, names: Names, samples: Sequence[Any], random: Random) -> None:
    """Changes path, query and body, each with some probability."""
    for name in case.path_parameters or {}:
        known = names.get(f"/{name.lower()}") or names.get(name.lower())
        if known and random.random() < OFTEN:
            case.path_parameters[name] = str(random.choice(known))
        elif random.random() < HALF:
            case.path_parameters[name] = "no such thing!"
    case.query = _query(case.query or {}, names, random)
    _set_tenant(case.headers, names, random)
    if samples and random.random() < HALF:
        case.body = _filled(random.choice(samples), case.path_parameters or {})
        case.media_type = case.media_type or "application/json"
        if random.random() < HALF:
            return
    if isinstance(case.body, dict | list):
        case.body = _body(case.body, names, random)


def _set_tenant(headers: MutableMapping[str, str] | None, names: Names, random: Random) -> None:
    """Mostly the administrator of the system asks: for a tenant that is not there nothing would be done."""
    if headers and TENANT in headers:
        del headers[TENANT]
        if TENANT.lower() in names and random.random() < SELDOM:
            headers[TENANT] = str(random.choice(names[TENANT.lower()]))


def _filled(value: Any, path: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each, path) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, path) for each in value]
    if isinstance(value, str) and value[:1] == "{":
        return path.get(value[1:-1], value)
    return value


def _query(query: Mapping[str, Any], names: Names, random: Random) -> dict[str, Any]:
    """Few filters at once, or nothing would be found."""
    kept = dict(query)
    while len(kept) > 1 and random.random() < OFTEN:
        del kept[random.choice(list(kept))]
    return {
        name: str(random.choice(names[name.lower()])) if name.lower() in names and random.random() < HALF else value
        for name, value in kept.items()
    }


def _body(value: Any, names: Names, random: Random, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _body(each, names, random, key) for key, each in value.items()}
    known = names.get(name.lower())
    if isinstance(value, list):
        if known and all(not isinstance(each, dict | list) for each in value) and random.random() < OFTEN:
            return random.sample(list(known), min(len(known), random.randint(1, 3)))
        return [_body(each, names, random, name) for each in value]
    return random.choice(known) if known and random.random() < OFTEN else value
