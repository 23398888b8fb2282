"""Puts existing names and sample bodies into generated requests, of which nearly all would be refused otherwise."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from random import Random
from typing import Any

from conformance.names import Names

OFTEN, HALF, SELDOM = 0.8, 0.5, 0.2
TENANT = "Cray-Tenant-Name"


def use_existing_names(case: Any, names: Names, samples: Sequence[Any], random: Random) -> None:
    """Changes path, query and body in place, each with a probability of its own."""
    for name in case.path_parameters or {}:
        candidates = names.get(f"/{name.lower()}") or names.get(name.lower())
        if candidates and random.random() < OFTEN:
            case.path_parameters[name] = str(random.choice(candidates))
        elif random.random() < HALF:
            case.path_parameters[name] = "no such thing!"
    case.query = _query(case.query or {}, names, random)
    _set_tenant(case.headers, names, random)
    if samples and random.random() < HALF:
        case.body = _with_parameters(random.choice(samples), case.path_parameters or {})
        case.media_type = case.media_type or "application/json"
        if random.random() < HALF:
            return
    if isinstance(case.body, dict | list):
        case.body = _body(case.body, names, random)


def _set_tenant(headers: MutableMapping[str, str] | None, names: Names, random: Random) -> None:
    """Most requests are the system administrator's: one for an unknown tenant would always be refused."""
    if headers and TENANT in headers:
        del headers[TENANT]
        if TENANT.lower() in names and random.random() < SELDOM:
            headers[TENANT] = str(random.choice(names[TENANT.lower()]))


def _with_parameters(value: Any, path: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _with_parameters(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_parameters(inner, path) for inner in value]
    if isinstance(value, str) and value[:1] == "{":
        return path.get(value[1:-1], value)
    return value


def _query(query: Mapping[str, Any], names: Names, random: Random) -> dict[str, Any]:
    """Few filters at once, or no record would match."""
    filters = dict(query)
    while len(filters) > 1 and random.random() < OFTEN:
        del filters[random.choice(list(filters))]
    return {
        name: str(random.choice(names[name.lower()])) if name.lower() in names and random.random() < HALF else value
        for name, value in filters.items()
    }


def _body(value: Any, names: Names, random: Random, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _body(inner, names, random, key) for key, inner in value.items()}
    candidates = names.get(name.lower())
    if isinstance(value, list):
        if candidates and all(not isinstance(inner, dict | list) for inner in value) and random.random() < OFTEN:
            return random.sample(list(candidates), min(len(candidates), random.randint(1, 3)))
        return [_body(inner, names, random, name) for inner in value]
    return random.choice(candidates) if candidates and random.random() < OFTEN else value
