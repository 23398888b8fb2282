"""CFS: writes, and where else they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from conformance.legal_values import LABELS, NEW_NODES, NODES, TEXT
from conformance.read_back import ReadBack, Request, Row, get
from conformance.seed_records_software import CREDENTIALS, LAYER

_OPTIONS = st.fixed_dictionaries(
    {"batch_size": st.integers(1, 10_000)},
    optional={
        "additional_inventory_url": LABELS.map(lambda name: f"https://vcs.local/{name}.git"),
        "batch_window": st.integers(1, 10_000),
        "batcher_check_interval": st.integers(1, 10_000),
        "default_ansible_config": TEXT,
        "default_batcher_retry_policy": st.integers(0, 100),
        "hardware_sync_interval": st.integers(1, 10_000),
        "session_ttl": st.from_regex(r"[0-9]{1,4}[mMhHdDwW]", fullmatch=True),
    },
)
_IN_V2 = {"session_ttl": "sessionTTL", "additional_inventory_url": "additionalInventoryUrl"}


def _old_name(name: str) -> str:
    """The name in version 2, which writes names in camel case."""
    first, *words = name.split("_")
    return _IN_V2.get(name, first + "".join(map(str.capitalize, words)))


OPTIONS = Row(
    "options",
    "cfs",
    _OPTIONS,
    lambda thing: ("PATCH", "/v3/options", thing),
    [
        ReadBack(
            get(lambda _: "/v3/options"),
            lambda body, thing: {name: body[name] for name in thing},
            lambda thing: thing,
        ),
        ReadBack(
            get(lambda _: "/v2/options"),
            lambda body, thing: {name: body[_old_name(name)] for name in thing},
            lambda thing: thing,
        ),
    ],
)

_LAYERS = st.lists(
    st.fixed_dictionaries(
        {
            "clone_url": LABELS.map(lambda name: f"https://vcs.local/vcs/cray/{name}.git"),
            "playbook": LABELS,
            "commit": st.text("0123456789abcdef", min_size=40, max_size=40),
        },
        optional={"name": TEXT.filter(bool), "special_parameters": st.just({"ims_require_dkms": True})},
    ),
    max_size=4,
    unique_by=lambda layer: (layer["clone_url"], layer["playbook"]),
)
_CONFIGURATION = st.fixed_dictionaries(
    {"name": LABELS, "layers": _LAYERS},
    optional={"description": TEXT},
)


def _body(thing: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if name != "name"}


def _undated(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "last_updated"}


def _in_v2(thing: dict[str, Any]) -> dict[str, Any]:
    """Version 2 has no description."""
    return {"name": thing["name"], "layers": _with_old_names(thing["layers"])}


def _with_old_names(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_old_names(inner) for inner in value]
    if isinstance(value, dict):
        return {_old_name(name): _with_old_names(inner) for name, inner in value.items()}
    return value


def _v2_name_and_layers(body: dict[str, Any], _: Any) -> dict[str, Any]:
    return {name: body[name] for name in ("name", "layers")}


CONFIGURATION = Row(
    "configuration",
    "cfs",
    _CONFIGURATION,
    lambda thing: ("PUT", f"/v3/configurations/{thing['name']}", _body(thing)),
    [
        ReadBack(
            get(lambda thing: f"/v3/configurations/{thing['name']}"),
            lambda body, _: _undated(body),
            lambda thing: thing,
        ),
        ReadBack(
            get(lambda _: "/v3/configurations"),
            lambda body, thing: [
                _undated(record) for record in body["configurations"] if record["name"] == thing["name"]
            ],
            lambda thing: [thing],
        ),
        ReadBack(get(lambda thing: f"/v2/configurations/{thing['name']}"), _v2_name_and_layers, _in_v2),
    ],
)
OLD_CONFIGURATION = Row(
    "configuration of version 2",
    "cfs",
    st.fixed_dictionaries({"name": LABELS, "layers": _LAYERS}),
    lambda thing: ("PUT", f"/v2/configurations/{thing['name']}", _body(_in_v2(thing))),
    [
        ReadBack(
            get(lambda thing: f"/v3/configurations/{thing['name']}"),
            lambda body, _: _undated(body),
            lambda thing: thing,
        ),
        ReadBack(get(lambda thing: f"/v2/configurations/{thing['name']}"), _v2_name_and_layers, _in_v2),
    ],
)

_STATE = st.lists(
    st.fixed_dictionaries(
        {
            "clone_url": LABELS,
            "playbook": LABELS,
            "commit": st.text("0123456789abcdef", min_size=1, max_size=40),
            "session_name": LABELS,
            "status": st.sampled_from(["applied", "failed", "skipped"]),
        }
    ),
    max_size=4,
)
_COMPONENT = st.fixed_dictionaries(
    {"id": NEW_NODES, "state": _STATE, "desired_config": st.just("")},
    optional={
        "enabled": st.booleans(),
        "error_count": st.integers(0, 1000),
        "retry_policy": st.integers(0, 1000),
        "tags": st.dictionaries(TEXT.filter(bool), TEXT.filter(bool), max_size=3),
    },
)


def _as_written(body: dict[str, Any], thing: dict[str, Any]) -> dict[str, Any]:
    layers = [_undated(layer) for layer in body["state"]]
    return {name: layers if name == "state" else body[name] for name in thing}


def _of_v2(body: dict[str, Any], _: Any) -> list[tuple[str, str]]:
    return [(layer["cloneUrl"], layer["commit"]) for layer in body["state"]]


def _for_v2(thing: dict[str, Any]) -> list[tuple[str, str]]:
    """Version 2 appends the status to the commit, unless it is ``applied``."""
    return [
        (layer["clone_url"], layer["commit"] + ("" if layer["status"] == "applied" else f"_{layer['status']}"))
        for layer in thing["state"]
    ]


COMPONENT = Row(
    "component",
    "cfs",
    _COMPONENT,
    lambda thing: ("PUT", f"/v3/components/{thing['id']}", thing),
    [
        ReadBack(
            get(lambda thing: f"/v3/components/{thing['id']}?state_details=true"), _as_written, lambda thing: thing
        ),
        ReadBack(
            get(lambda thing: f"/v3/components?ids={thing['id']}&state_details=true"),
            lambda body, thing: [_as_written(record, thing) for record in body["components"]],
            lambda thing: [thing],
        ),
        ReadBack(get(lambda thing: f"/v2/components/{thing['id']}"), _of_v2, _for_v2),
    ],
    clean_up=lambda thing: [("DELETE", f"/v3/components/{thing['id']}", None)],
)


def _written_in_v2(thing: dict[str, Any]) -> dict[str, Any]:
    layers = zip(thing["state"], _for_v2(thing), strict=True)
    state = [
        {"cloneUrl": url, "commit": commit, "playbook": layer["playbook"], "sessionName": layer["session_name"]}
        for layer, (url, commit) in layers
    ]
    # The names inside are not converted: people choose the names of tags, and no version renames them.
    return {_old_name(name): value for name, value in thing.items()} | {"state": state}


OLD_COMPONENT = Row(
    "component of version 2",
    "cfs",
    _COMPONENT,
    lambda thing: ("PUT", "/v2/components", [_written_in_v2(thing)]),
    [
        ReadBack(
            get(lambda thing: f"/v3/components/{thing['id']}?state_details=true"), _as_written, lambda thing: thing
        ),
        ReadBack(get(lambda thing: f"/v2/components/{thing['id']}"), _of_v2, _for_v2),
    ],
    clean_up=lambda thing: [("DELETE", f"/v2/components/{thing['id']}", None)],
    changed="version 2 writes how a layer ended behind its commit",
)

_SOURCE = st.fixed_dictionaries(
    {"name": LABELS, "clone_url": TEXT.filter(bool), "credentials": st.just(CREDENTIALS)},
    optional={"description": TEXT, "ca_cert": st.just({"configmap_name": "c", "configmap_namespace": "n"})},
)


def _source(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in _undated(body).items() if name != "credentials"}


def _without_credentials(thing: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if name != "credentials"}


def _removed(kind: str) -> Callable[[Any], Sequence[Request]]:
    return lambda thing: [("DELETE", f"/v3/{kind}/{quote(thing['name'])}", None)]


SOURCE = Row(
    "source",
    "cfs",
    _SOURCE,
    lambda thing: ("POST", "/v3/sources", thing),
    [
        ReadBack(
            get(lambda thing: f"/v3/sources/{thing['name']}"), lambda body, _: _source(body), _without_credentials
        ),
        ReadBack(
            get(lambda thing: f"/v3/sources/{thing['name']}"),
            lambda body, _: body["credentials"].keys(),
            lambda _: {"authentication_method", "secret_name"},
        ),
        ReadBack(
            get(lambda _: "/v3/sources"),
            lambda body, thing: [_source(record) for record in body["sources"] if record["name"] == thing["name"]],
            lambda thing: [_without_credentials(thing)],
        ),
    ],
    _removed("sources"),
    changed="the password goes to Vault; the name of the secret is shown",
)

_SESSION = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?", fullmatch=True),
        "configuration_name": st.just("c"),
        "ansible_limit": st.lists(st.sampled_from(NODES), min_size=1, max_size=4).map(",".join),
        "ansible_verbosity": st.integers(0, 4),
        "ansible_config": LABELS,
        "tags": st.dictionaries(LABELS, TEXT, max_size=3),
    }
)


def _session(body: dict[str, Any]) -> dict[str, Any]:
    ansible = {f"ansible_{name}": body["ansible"][name] for name in ("limit", "verbosity", "config")}
    return {
        "name": body["name"],
        "configuration_name": body["configuration"]["name"],
        "tags": body["tags"],
        **ansible,
    }


SESSION = Row(
    "session",
    "cfs",
    _SESSION,
    lambda thing: ("POST", "/v3/sessions", thing),
    [
        ReadBack(
            get(lambda thing: f"/v3/sessions/{thing['name']}"), lambda body, _: _session(body), lambda thing: thing
        ),
        ReadBack(
            get(lambda thing: f"/v2/sessions/{thing['name']}"), lambda body, _: _session(body), lambda thing: thing
        ),
        ReadBack(
            get(lambda thing: f"/v3/sessions?name_contains={thing['name']}"),
            lambda body, thing: [_session(record) for record in body["sessions"] if record["name"] == thing["name"]],
            lambda thing: [thing],
        ),
    ],
    lambda thing: [("PUT", "/v3/configurations/c", {"layers": [LAYER]}), *_removed("sessions")(thing)],
    _removed("sessions"),
)

ROWS = (OPTIONS, CONFIGURATION, OLD_CONFIGURATION, COMPONENT, OLD_COMPONENT, SOURCE, SESSION)
