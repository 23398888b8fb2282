"""BOS: writes, and where else they show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from conformance.legal_values import NEW_NODES, NODES, TEXT
from conformance.read_back import ReadBack, Row, get
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.seed_data.images import images
from csm_emulator.state.random import SeededRandom

_IMAGE = images(topologies.load("tiny"), SeededRandom(1))[0].link
_NAME = st.from_regex(r"[a-zA-Z0-9]([-._a-zA-Z0-9]{0,40}[a-zA-Z0-9])?", fullmatch=True)
_CFS = st.fixed_dictionaries({"configuration": TEXT.filter(bool)})
_BOOT_SET = st.fixed_dictionaries(
    {"path": st.just(_IMAGE["path"]), "type": st.just("s3"), "arch": st.sampled_from(["X86", "Other", "Unknown"])},
    optional={
        "etag": st.just(_IMAGE["etag"]),
        "cfs": _CFS,
        "kernel_parameters": TEXT,
        "rootfs_provider": TEXT.filter(bool),
        "rootfs_provider_passthrough": TEXT,
        "node_groups": st.lists(TEXT.filter(bool), min_size=1, max_size=3),
        "node_roles_groups": st.lists(TEXT.filter(bool), min_size=1, max_size=3),
    },
).flatmap(
    lambda boot_set: st.lists(st.sampled_from(NODES), min_size=1, max_size=8).map(
        lambda nodes: boot_set | {"node_list": nodes}
    )
)
_TEMPLATE = st.fixed_dictionaries(
    {"name": _NAME, "boot_sets": st.dictionaries(_NAME, _BOOT_SET, min_size=1, max_size=3)},
    optional={"description": TEXT.filter(bool), "enable_cfs": st.booleans(), "cfs": _CFS},
)


def _without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}


def _template(thing: dict[str, Any]) -> dict[str, Any]:
    return {**thing, "tenant": None}


TEMPLATE = Row(
    "session template",
    "bos",
    _TEMPLATE,
    lambda thing: ("PUT", f"/v2/sessiontemplates/{thing['name']}", _without(thing, "name")),
    [
        ReadBack(get(lambda thing: f"/v2/sessiontemplates/{thing['name']}"), lambda body, _: body, _template),
        ReadBack(
            get(lambda _: "/v2/sessiontemplates"),
            lambda body, thing: [record for record in body if record["name"] == thing["name"]],
            lambda thing: [_template(thing)],
        ),
    ],
    changed="a template of the system has no tenant",
)

_ARTEFACTS = st.fixed_dictionaries({}, optional={"kernel": TEXT, "kernel_parameters": TEXT, "initrd": TEXT})
_STATE = {"boot_artifacts": _ARTEFACTS, "bss_token": TEXT}
_COUNT = st.integers(0, 1_048_576)
_NO_ATTEMPTS = dict.fromkeys(("power_on_attempts", "power_off_graceful_attempts", "power_off_forceful_attempts"), 0)
_FIELDS = {
    "actual_state": st.fixed_dictionaries({}, optional=_STATE),
    "desired_state": st.fixed_dictionaries({}, optional={**_STATE, "configuration": TEXT}),
    "staged_state": st.fixed_dictionaries({}, optional={"boot_artifacts": _ARTEFACTS, "configuration": TEXT}),
    "event_stats": st.fixed_dictionaries({}, optional={"power_on_attempts": _COUNT}),
    "error": TEXT,
    "enabled": st.booleans(),
    "retry_policy": _COUNT,
    "session": st.just("") | _NAME,
}
_TIMED = ("actual_state", "desired_state", "staged_state", "last_action")


def _undated(body: dict[str, Any]) -> dict[str, Any]:
    """Without the status that BOS adds to every component, and the times that it sets."""
    return {
        name: _without(value, "last_updated") if name in _TIMED else value
        for name, value in body.items()
        if name not in ("status", "last_action")
    }


def _component(thing: dict[str, Any]) -> dict[str, Any]:
    if "desired_state" not in thing:
        return thing
    attempts_reset = {"boot_artifacts", "configuration"} & thing["desired_state"].keys()
    return {"session": "", **thing} | ({"event_stats": _NO_ATTEMPTS} if attempts_reset else {})


COMPONENT = Row(
    "component",
    "bos",
    st.fixed_dictionaries({"id": NEW_NODES}, optional=_FIELDS),
    lambda thing: ("PUT", "/v2/components", [thing]),
    [
        ReadBack(get(lambda thing: f"/v2/components/{thing['id']}"), lambda body, _: _undated(body), _component),
        ReadBack(
            get(lambda thing: f"/v2/components?ids={thing['id']}"),
            lambda body, _: [_undated(record) for record in body],
            lambda thing: [_component(thing)],
        ),
    ],
    clean_up=lambda thing: [("DELETE", f"/v2/components/{thing['id']}", None)],
    changed="a desired state that a client sets belongs to no session, and has no attempts yet",
)


def _patched(body: Any, thing: dict[str, Any]) -> dict[str, Any]:
    return {name: _undated(body)[name] for name in thing if name != "id"}


_PATCH = st.fixed_dictionaries(
    {"id": st.sampled_from(NODES)},
    optional={name: _FIELDS[name] for name in ("enabled", "error", "retry_policy")},
)
COMPONENT_PATCH = Row(
    "change of a component",
    "bos",
    _PATCH,
    lambda thing: ("PATCH", f"/v2/components/{thing['id']}", thing),
    [
        ReadBack(get(lambda thing: f"/v2/components/{thing['id']}"), _patched, lambda thing: _without(thing, "id")),
        ReadBack(
            get(lambda thing: f"/v2/components?ids={thing['id']}"),
            lambda body, thing: _patched(body[0], thing),
            lambda thing: _without(thing, "id"),
        ),
    ],
)

_TIMEOUT = st.integers(10, 86400)
_OPTIONS = st.fixed_dictionaries(
    {"logging_level": st.sampled_from(["DEBUG", "info", "Warning", "ERROR", "critical"])},
    optional={
        **dict.fromkeys(("bss_read_timeout", "cfs_read_timeout", "hsm_read_timeout", "pcs_read_timeout"), _TIMEOUT),
        **dict.fromkeys(("clear_stage", "ims_errors_fatal", "ims_images_must_exist", "reject_nids"), st.booleans()),
        "cleanup_completed_session_ttl": st.from_regex(r"[1-9][0-9]{0,6}[mMhHdDwW]", fullmatch=True),
        "component_actual_state_ttl": st.from_regex(r"[1-9][0-9]{0,6}[hHdDwW]", fullmatch=True),
        "default_retry_policy": _COUNT,
        "discovery_frequency": st.integers(0, 33_554_432),
        "max_boot_wait_time": _COUNT,
        "max_component_batch_size": st.integers(0, 131_071),
        "polling_frequency": _COUNT,
        "session_limit_required": st.booleans(),
    },
)
OPTIONS = Row(
    "options",
    "bos",
    _OPTIONS,
    lambda thing: ("PATCH", "/v2/options", thing),
    [
        ReadBack(
            get(lambda _: "/v2/options"),
            lambda body, thing: {name: body[name] for name in thing},
            lambda thing: thing,
        )
    ],
)

_SESSION = st.fixed_dictionaries(
    {
        "name": _NAME,
        "operation": st.sampled_from(["boot", "reboot", "shutdown"]),
        "template_name": st.just("t"),
        "limit": st.lists(st.sampled_from(NODES), min_size=1, max_size=8).map(",".join),
        "stage": st.booleans(),
        "include_disabled": st.booleans(),
    }
)
_TEMPLATE_T = {"boot_sets": {"nodes": {"path": _IMAGE["path"], "type": "s3", "node_groups": ["blue"]}}}


def _session_by(path: Callable[[Any], str]) -> ReadBack:
    return ReadBack(
        get(path),
        lambda body, thing: [
            {name: record[name] for name in thing}
            for record in (body if isinstance(body, list) else [body])
            if record["name"] == thing["name"]
        ],
        lambda thing: [thing],
    )


SESSION = Row(
    "session",
    "bos",
    _SESSION,
    lambda thing: ("POST", "/v2/sessions", thing),
    [
        _session_by(lambda thing: f"/v2/sessions/{quote(thing['name'])}"),
        _session_by(lambda _: "/v2/sessions?status=pending"),
    ],
    lambda thing: [
        ("PUT", "/v2/sessiontemplates/t", _TEMPLATE_T),
        ("DELETE", f"/v2/sessions/{quote(thing['name'])}", None),
    ],
    lambda thing: [("DELETE", f"/v2/sessions/{quote(thing['name'])}", None)],
)

ROWS = (TEMPLATE, COMPONENT, COMPONENT_PATCH, OPTIONS, SESSION)
