"""The Fabric Manager and VNID: writes, and where else they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from conformance.legal_values import LABELS, TEXT
from conformance.read_back import ReadBack, Request, Row, Thing, get
from csm_emulator.machine.fabric.plan import FabricPlan
from csm_emulator.machine.topology import catalog as topologies

_PORTS = {port.xname: port.dfa for port in FabricPlan(topologies.load("tiny")).ports.values() if port.edge}
_DFAS = st.lists(st.sampled_from(sorted(_PORTS.values())), max_size=6, unique=True)
_NAME = st.from_regex(r"[A-Za-z0-9_~:@+-][A-Za-z0-9._~:@+-]{0,60}", fullmatch=True)


def _written_fields(body: dict[str, Any], thing: dict[str, Any]) -> dict[str, Any]:
    return {name: body[name] for name in thing}


def _listed(path: str, key: str) -> ReadBack:
    return ReadBack(
        get(lambda _: path),
        lambda body, thing: f"{path}/{thing[key]}" in body["documentLinks"],
        lambda _: True,
    )


def _document(path: str, key: str) -> ReadBack:
    return ReadBack(get(lambda thing: f"{path}/{thing[key]}"), _written_fields, lambda thing: thing)


def _deletion(path: str, key: str) -> Callable[[Thing], Sequence[Request]]:
    return lambda thing: [("DELETE", f"{path}/{thing[key]}", None)]


def _of_manager(name: str, path: str, key: str, things: st.SearchStrategy[Thing]) -> Row:
    """A document that shows on its own path and in the list after it was created."""
    return Row(
        name,
        "fabric-manager",
        things,
        lambda thing: ("POST", path, thing),
        [_document(path, key), _listed(path, key)],
        _deletion(path, key),
        _deletion(path, key),
    )


VLAN = _of_manager(
    "VLAN",
    "/fabric/vlans",
    "id",
    st.fixed_dictionaries({"id": st.integers(2, 4094), "name": TEXT, "status": st.just("ONLINE")}),
)
_RETRY = st.fixed_dictionaries(
    {"enabled": st.booleans(), "always": st.booleans()},
    optional={"num_retries": st.integers(0, 100), "duration_sec": st.integers(0, 1000)},
)
_POLICY = st.fixed_dictionaries(
    {"state": st.sampled_from(["ONLINE", "OFFLINE"]), "autoRetry": _RETRY, "headShellReset": _RETRY},
    optional={
        **dict.fromkeys(("speed", "precode", "loopback", "mac"), TEXT),
        **dict.fromkeys(("autoneg", "isUntaggedAllowed"), st.booleans()),
        "flowControl": st.fixed_dictionaries({"rx": st.booleans(), "tx": st.booleans()}),
        "nativeVlanId": st.just("/fabric/vlans/1"),
        "allowedVlans": st.lists(st.just("/fabric/vlans/1"), max_size=2),
    },
)
_POLICIES = "/fabric/port-policies"


def _without_link(policy: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in policy.items() if name != "documentSelfLink"}


POLICY = Row(
    "port policy",
    "fabric-manager",
    st.tuples(_NAME, _POLICY).map(lambda pair: pair[1] | {"documentSelfLink": pair[0]}),
    lambda thing: ("POST", _POLICIES, thing),
    [
        ReadBack(
            get(lambda thing: f"{_POLICIES}/{thing['documentSelfLink']}"),
            lambda body, thing: _written_fields(body, _without_link(thing)),
            _without_link,
        ),
        ReadBack(
            get(lambda thing: f"{_POLICIES}/{thing['documentSelfLink']}"),
            lambda body, _: body["documentSelfLink"],
            lambda thing: f"{_POLICIES}/{thing['documentSelfLink']}",
        ),
        _listed(_POLICIES, "documentSelfLink"),
    ],
    _deletion(_POLICIES, "documentSelfLink"),
    _deletion(_POLICIES, "documentSelfLink"),
    changed="a bare name becomes the whole link",
)
_LINKS = st.lists(
    st.sampled_from(["fabric-policy", "edge-policy", "cassini-policy", "qos-ll_be_bd_et-cassini-policy"]), max_size=4
).map(lambda names: [f"{_POLICIES}/{name}" for name in names])
PORT = Row(
    "policies of a port",
    "fabric-manager",
    st.fixed_dictionaries({"conn_port": st.sampled_from(sorted(_PORTS)), "portPolicyLinks": _LINKS}),
    lambda thing: ("PATCH", f"/fabric/ports/{thing['conn_port']}", {"portPolicyLinks": thing["portPolicyLinks"]}),
    [_document("/fabric/ports", "conn_port"), _listed("/fabric/ports", "conn_port")],
)


def _ranges(first: int, last: int) -> st.SearchStrategy[list[str]]:
    one = st.tuples(st.integers(first, last), st.integers(first, last)).map(lambda pair: f"{min(pair)}-{max(pair)}")
    return st.lists(one, min_size=1, max_size=3)


PARTITION = _of_manager(
    "VNI partition",
    "/fabric/vni/partitions",
    "partitionName",
    st.fixed_dictionaries({"partitionName": _NAME, "vniRanges": _ranges(1, 65_535), "edgePortDFAs": _DFAS}),
)
_AROUND = {"partitionName": "around", "vniRanges": ["1-65535"], "edgePortDFAs": sorted(_PORTS.values())}
_BLOCKS = "/fabric/vni/blocks"
_BLOCK_THINGS = st.fixed_dictionaries(
    {
        "vniBlockName": _NAME,
        "partitionName": st.just("around"),
        "vniRanges": _ranges(2000, 2050),
        "portDFAs": _DFAS,
    }
)
BLOCK = Row(
    "VNI block",
    "fabric-manager",
    _BLOCK_THINGS,
    lambda thing: ("POST", _BLOCKS, thing),
    [
        _document(_BLOCKS, "vniBlockName"),
        _listed(_BLOCKS, "vniBlockName"),
        ReadBack(
            lambda _, answer: ("GET", answer["enforcementTaskServiceLink"], None),
            lambda body, _: (body["taskInfo"]["stage"], sorted(body["edgePortDFAs"])),
            lambda thing: ("FINISHED", sorted(thing["portDFAs"])),
        ),
    ],
    lambda thing: [("POST", "/fabric/vni/partitions", _AROUND), *_deletion(_BLOCKS, "vniBlockName")(thing)],
    _deletion(_BLOCKS, "vniBlockName"),
    wait=30.0,
)

_ROOT = "/fabric/vnis"
_PLAIN = LABELS.map(lambda label: label[:40])
_SPAN = st.tuples(st.integers(1024, 65_535), st.integers(1024, 65_535)).map(sorted)


def _self_link(path: Callable[[Thing], str], name: str) -> ReadBack:
    return ReadBack(
        get(path),
        lambda body, thing: f"{path(thing)}/{quote(str(thing[name]), safe='')}" in body["documentSelfLinks"],
        lambda _: True,
    )


VNID_PARTITION = Row(
    "partition",
    "vnid",
    st.builds(
        lambda name, text, span: {"partitionName": name, "description": text, "vniFirst": span[0], "vniLast": span[1]},
        _PLAIN,
        TEXT,
        _SPAN,
    ),
    lambda thing: ("POST", _ROOT, thing),
    [_document(_ROOT, "partitionName"), _self_link(lambda _: _ROOT, "partitionName")],
    clean_up=_deletion(_ROOT, "partitionName"),
)
_WHOLE = {"partitionName": "whole", "description": "", "vniFirst": 1024, "vniLast": 65_535}


def _inside(name: str, kind: str, key: str, things: st.SearchStrategy[Thing]) -> Row:
    path = f"{_ROOT}/whole/{kind}"
    return Row(
        name,
        "vnid",
        things,
        lambda thing: ("POST", path, thing),
        [_document(path, key), _self_link(lambda _: path, key)],
        lambda _: [("POST", _ROOT, _WHOLE)],
        _deletion(path, key),
    )


POOL = _inside(
    "pool",
    "pools",
    "name",
    st.builds(
        lambda name, span, kind: {"name": name, "vniFirst": span[0], "vniLast": span[1], "poolType": kind},
        _PLAIN,
        _SPAN,
        st.sampled_from(["applications", "job-steps", "jobs"]),
    ),
)
_CLASSES = st.fixed_dictionaries(
    dict.fromkeys(("best_effort", "low_latency", "bulk_data", "dedicated_access"), st.booleans())
)
JOB = _inside(
    "job",
    "jobs",
    "jobID",
    st.fixed_dictionaries(
        {
            "jobID": _PLAIN,
            "UID": st.integers(0, 2**31 - 1),
            "trafficClasses": _CLASSES,
            "vniLimit": st.integers(1, 1000),
        }
    ),
)
VNI = Row(
    "VNI of a service",
    "vnid",
    st.fixed_dictionaries(
        {"description": TEXT, "vni": st.integers(1024, 65_535), "vniCount": st.just(1), "isService": st.just(True)}
    ),
    lambda thing: ("POST", f"{_ROOT}/whole/vnis", thing),
    [
        ReadBack(
            get(lambda thing: f"{_ROOT}/whole/vnis/{thing['vni']}"),
            lambda body, _: (body["VNI"], body["description"], body["isService"]),
            lambda thing: (thing["vni"], thing["description"], True),
        ),
        _self_link(lambda _: f"{_ROOT}/whole/vnis", "vni"),
    ],
    lambda _: [("POST", _ROOT, _WHOLE)],
    _deletion(f"{_ROOT}/whole/vnis", "vni"),
)

ROWS = (VLAN, POLICY, PORT, PARTITION, BLOCK, VNID_PARTITION, POOL, JOB, VNI)
